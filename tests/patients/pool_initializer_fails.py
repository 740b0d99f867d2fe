"""The workers of rank 2's pool fail in their initializer: the pool starts new ones for ever, and no task is ever done."""

import multiprocessing
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [2], "state": "stuck", "accept": ["dead-rank"]}
LAUNCHERS = ("shell", "alone")


def prepare(path):
    with open(path) as index:
        index.read()


def convert(number):
    return number * number


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        context = multiprocessing.get_context("fork")
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        pool = context.Pool(2, prepare, (str(crew.place / "index.json"),))
        pool.map(convert, range(7))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
