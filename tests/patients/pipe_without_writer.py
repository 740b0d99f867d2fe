"""Rank 1 opens a named pipe for reading that nobody opens for writing."""

import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def load(crew):
    os.mkfifo(crew.place / "records")
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    return open(crew.place / "records").read()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        load(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
