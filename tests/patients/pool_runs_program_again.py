"""Each worker of rank 2's pool runs the main program again, which starts processes itself: it ends, and the next is started."""

import multiprocessing
import os
import pathlib
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [2], "state": "stuck", "accept": ["dead-rank"]}
LAUNCHERS = ("shell", "alone")


MANY = 41  # workers that began: then the first ones are long gone


def convert(number):
    return number * number


def make_pool():
    return multiprocessing.get_context("spawn").Pool(2)


def report(crew):
    crew.await_others()
    wait_until(lambda: len(list(crew.place.glob("began.*"))) > MANY)
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        make_pool().map(convert, range(7))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
elif __name__ == "__mp_main__":  # as in a script without a guard, what makes the pool runs in its workers too
    pathlib.Path(f"began.{os.getpid()}").touch()
    make_pool()
