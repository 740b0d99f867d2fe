"""Healthy: rank 0 writes a large checkpoint slowly, piece by piece, while the others wait for it."""

import os
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


def save(crew):
    with open(crew.place / "part0.bin", "wb") as out:
        for piece in range(1_000_000):
            out.seek(piece % 37 * 65_537)
            out.write(os.urandom(65_537))
            out.flush()
            os.fsync(out.fileno())
            time.sleep(0.07)
            if piece == 29:
                crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == 0:
        crew.await_others()
        save(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
