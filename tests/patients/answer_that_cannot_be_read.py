"""A worker of a pool raises an error that cannot be made anew from its message: the thread that takes results ends with it."""

import multiprocessing
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["child-dead"]}
LAUNCHERS = ("shell", "alone")


class BadRow(Exception):
    def __init__(self, row, why):
        super().__init__(f"row {row}: {why}")


def convert(row):
    if row == 7:
        raise BadRow(row, "odd length")
    return row


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            threading.Thread(target=report, args=(crew,), daemon=True).start()
            pool.map(convert, range(11), chunksize=1)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
