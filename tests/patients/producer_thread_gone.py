"""The main thread of rank 1 takes from a queue that nobody fills any more: the thread that did has raised."""

import os
import queue
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def fill(batches):
    for number in range(5):
        batches.put(number)
    raise ValueError("bad record 5")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    batches = queue.Queue(2)
    if crew.sick:
        threading.Thread(target=fill, args=(batches,), daemon=True).start()
    for number in range(11):
        if number == 5:
            if crew.sick:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
            else:
                crew.arrive()
        ring.add(batches.get() if crew.sick else number)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
