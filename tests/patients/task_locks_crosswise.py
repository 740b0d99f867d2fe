"""Two tasks of rank 2's event loop take two asyncio locks in opposite order."""

import asyncio
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [2], "state": "stuck", "cycle": True}
LAUNCHERS = ("shell", "alone")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


async def move(first, second):
    async with first:
        await asyncio.sleep(0.1)
        async with second:
            return None


async def balance(crew):
    left, right = asyncio.Lock(), asyncio.Lock()
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    await asyncio.gather(move(left, right), move(right, left))


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        asyncio.run(balance(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
