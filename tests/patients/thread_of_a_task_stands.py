"""A coroutine of rank 2 awaits a thread, which waits in the job's code for something that never comes."""

import asyncio
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def download():
    threading.Event().wait()


async def fetch(crew):
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    await asyncio.get_running_loop().run_in_executor(None, download)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        asyncio.run(fetch(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
