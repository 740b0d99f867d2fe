"""Healthy: rank 1 waits for a pool of threads, which convert piece by piece; the others wait for rank 1."""

import multiprocessing.pool
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)


def convert(piece):
    for part in range(5):
        sum(range(300_007 * part))
        time.sleep(0.01)
    return piece


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == world // 2:
        crew.await_others()
        with multiprocessing.pool.ThreadPool(2) as pool:
            pieces = pool.map_async(convert, range(1_000_003), chunksize=1)
            time.sleep(3)
            crew.ready()
            pieces.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
