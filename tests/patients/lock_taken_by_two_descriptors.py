"""Rank 1 has the cache's flock and calls a part that opens the file anew and locks it again: it waits for itself."""

import fcntl

from _common import start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def note_size(folder, size):
    with open(folder / "cache.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "sizes").write_text(str(size))


def store(crew, part):
    with open(crew.place / "cache.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (crew.place / "part").write_bytes(part)
        crew.await_others()
        crew.ready()
        note_size(crew.place, len(part))


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        store(crew, bytes(1_009))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
