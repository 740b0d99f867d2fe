"""A coroutine of rank 1 waits, in the thread of its event loop, for what only this loop could bring."""

import asyncio
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["lock-order-deadlock"]}
LAUNCHERS = ("shell", "alone")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


async def fetch(part):
    return part


async def collect(crew):
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    return asyncio.run_coroutine_threadsafe(fetch(7), asyncio.get_running_loop()).result()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        asyncio.run(collect(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
