"""Healthy: rank 0 waits for its pool, whose workers convert piece by piece with pauses; the others wait for rank 0."""

import multiprocessing
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)


def convert(piece):
    for part in range(7):
        sum(range(1_009 * part))
        time.sleep(0.07)
    return piece


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == 0:
        crew.await_others()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pieces = pool.map_async(convert, range(1_000_003), chunksize=11)
            time.sleep(3)
            crew.ready()
            pieces.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
