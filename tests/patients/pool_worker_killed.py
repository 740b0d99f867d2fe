"""A worker of a multiprocessing pool is SIGKILLed in the middle of its task; the pool replaces it, the task is lost."""

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


def watch(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            answer = pool.map_async(convert, range(11), chunksize=1)
            threading.Thread(target=watch, args=(crew,), daemon=True).start()
            answer.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
