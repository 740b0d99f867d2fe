"""Rank 2 awaits an asyncio future that nobody will complete."""

import asyncio
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell",)


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


async def fetch(crew):
    answer = asyncio.get_running_loop().create_future()
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    return await answer


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        asyncio.run(fetch(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
