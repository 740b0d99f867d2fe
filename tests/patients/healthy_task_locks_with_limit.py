"""Healthy: two tasks of rank 1 take two asyncio locks in opposite order, with a time limit after which they let go."""

import asyncio

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


async def move(first, second):
    async with first:
        await asyncio.sleep(0.02)
        try:
            await asyncio.wait_for(second.acquire(), 0.3)
        except asyncio.TimeoutError:
            return
        second.release()


async def balance():
    left, right = asyncio.Lock(), asyncio.Lock()
    await asyncio.gather(move(left, right), move(right, left))


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
