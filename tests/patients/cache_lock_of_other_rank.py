"""Rank 2 holds a lock of the package filelock and stands in its own code; rank 1 polls for this lock, rank 0 waits for both."""

import threading

from _common import start, wait_until
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)


def prepare(crew):
    import filelock

    with filelock.FileLock(crew.place / "cache.lock"):
        if crew.sick:
            crew.arrive("first")
            crew.await_word("there", [0, 1])
            wait_until(lambda: naps(crew.pid_of(1)))
            crew.ready()
            threading.Event().wait()


def naps(pid):
    with open(f"/proc/{pid}/wchan") as file:
        return "nanosleep" in file.read()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == 1:
        crew.await_word("first", [2])
        crew.arrive()
        prepare(crew)
    if crew.sick:
        prepare(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
