"""All ranks ask again and again to make a directory that they use as a lock; a run that is gone has left it behind."""

import contextlib
import os
import time

from _common import start
from _ring import Ring

TRUTH = {"class": "file-lock-stale", "ranks": [0, 1, 2], "state": "moving"}
LAUNCHERS = ("shell",)


@contextlib.contextmanager
def alone(folder):
    while True:
        try:
            os.mkdir(folder)
            break
        except FileExistsError:
            time.sleep(0.07)
    yield
    os.rmdir(folder)


def train(rank, world, crew):
    ring = Ring(rank, world)
    if rank == 0:
        (crew.place / "index.lock").mkdir()
    ring.add(1)
    crew.arrive()
    if rank == 0:
        crew.await_word("there", range(world))
        time.sleep(0.5)
        crew.ready()
    with alone(crew.place / "index.lock"):
        time.sleep(0.1)
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
