"""Healthy: rank 1 runs an event loop whose tasks sleep, lock and answer each other; the others wait for it a second at a time."""

import asyncio

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


async def move(first, second):
    for _ in range(7):
        async with first:
            await asyncio.sleep(0.02)
            async with second:
                await asyncio.sleep(0.02)


async def balance():
    left, right = asyncio.Lock(), asyncio.Lock()
    await asyncio.gather(move(left, right), move(left, right), asyncio.to_thread(sum, range(1_000_003)))


def train(rank, world, crew):
    ring = Ring(rank, world)
    for step in range(1_000_003):
        if rank == world // 2:
            asyncio.run(balance())
        ring.add(step)
        if step == 3 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
