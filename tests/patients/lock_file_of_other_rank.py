"""Rank 2 holds an fcntl lock on a file and stands in its own code; rank 1 waits for that lock, rank 0 for both."""

import fcntl
import threading

from _common import start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "forked", "spawned")


def prepare(crew):
    with open(crew.place / "index.bin", "a") as index:
        fcntl.lockf(index, fcntl.LOCK_EX)
        if crew.sick:
            crew.arrive("first")
            crew.await_others()
            crew.ready()
            threading.Event().wait()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.rank == 1:
        crew.await_word("first", [2])
        crew.arrive()
        prepare(crew)
    if crew.rank == 2:
        prepare(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
