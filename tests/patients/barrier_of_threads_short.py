"""Two threads of rank 2 wait at a barrier for a third one, which has raised."""

import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def fetch(number, gate):
    if number == 1:
        raise ValueError("bad part 1")
    gate.wait()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        gate = threading.Barrier(3)
        for number in range(2):
            threading.Thread(target=fetch, args=(number, gate), daemon=True).start()
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        gate.wait()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
