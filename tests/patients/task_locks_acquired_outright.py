"""Two tasks of rank 1's uvloop move between two accounts, in opposite directions; each acquires the accounts' locks outright."""

import asyncio
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("uvloop",)


class Account:
    def __init__(self, amount):
        self.amount, self.lock = amount, asyncio.Lock()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


async def move(source, target, amount):
    await source.lock.acquire()
    try:
        await asyncio.sleep(0.1)
        await target.lock.acquire()
        try:
            source.amount, target.amount = source.amount - amount, target.amount + amount
        finally:
            target.lock.release()
    finally:
        source.lock.release()


async def balance(crew):
    left, right = Account(3), Account(4)
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    await asyncio.gather(move(left, right, 1), move(right, left, 2))


def train(rank, world, crew):
    import uvloop

    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        uvloop.run(balance(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
