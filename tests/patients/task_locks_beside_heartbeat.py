"""Two tasks of rank 1's event loop take two asyncio locks in opposite order, while a third one ticks on."""

import asyncio
import contextlib

from _common import start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)


@contextlib.asynccontextmanager
async def using(lock):
    async with lock:
        yield


async def move(first, second):
    async with using(first):
        await asyncio.sleep(0.1)
        async with second:
            return None


async def tick(crew, tasks):
    await asyncio.sleep(0.5)
    crew.await_others()
    crew.ready()
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0.2)


async def balance(crew):
    left, right = asyncio.Lock(), asyncio.Lock()
    tasks = [asyncio.ensure_future(move(left, right)), asyncio.ensure_future(move(right, left))]
    await asyncio.gather(tick(crew, tasks), *tasks)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        asyncio.run(balance(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
