"""Rank 0 gathers three asyncio tasks, of which one awaits an item of a queue into which nobody puts."""

import asyncio
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


async def fetch(part):
    await asyncio.sleep(0.02 * part)
    return part


async def merge(parts):
    return await parts.get()


async def collect(crew):
    parts = asyncio.Queue()
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    return await asyncio.gather(fetch(3), merge(parts), fetch(5))


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        asyncio.run(collect(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
