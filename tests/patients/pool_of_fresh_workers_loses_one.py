"""A worker of a pool that was started anew (spawn, fork server) is killed in its task; the pool replaces it, the task is lost."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def convert(item):
    if item == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            pool.map(convert, range(5), chunksize=1)  # all of them are there
            threading.Event().wait(1.3)
            answer = pool.map_async(convert, range(5, 11), chunksize=1)
            threading.Thread(target=report, args=(crew,), daemon=True).start()
            answer.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
