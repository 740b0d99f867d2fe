"""Rank 1 runs another program (not Python) and waits for its output; that program never ends."""

import os
import subprocess
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "spawned")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def fetch(crew):
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    return subprocess.run(["sleep", "100000"], capture_output=True).stdout


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        fetch(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
