"""A rank joins a child before it takes the child's large result from the queue: the child's feeder fills the pipe."""

import multiprocessing
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "queue-pipe-full", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def convert(results):
    results.put(b"\0" * 1_000_003)


def watch(crew, child):
    crew.await_others()
    await_still([child.pid])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        child = context.Process(target=convert, args=(results,))
        child.start()
        threading.Thread(target=watch, args=(crew, child), daemon=True).start()
        child.join()
        results.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
