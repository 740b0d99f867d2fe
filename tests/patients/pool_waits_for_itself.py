"""All threads of rank 2's pool wait for results of tasks that the same pool has not begun."""

import concurrent.futures
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck", "accept": ["lock-order-deadlock"]}
LAUNCHERS = ("shell",)


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def part(pool, depth):
    return pool.submit(part, pool, depth + 1).result() if depth < 5 else depth


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        pool = concurrent.futures.ThreadPoolExecutor(3)
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        part(pool, 0)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
