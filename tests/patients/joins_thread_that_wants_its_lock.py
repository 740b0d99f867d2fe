"""Rank 1 holds a lock while it joins a thread that waits for this lock."""

import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


class Cache:
    def __init__(self):
        self.gate = threading.Lock()
        self.entries = {}
        self.writer = threading.Thread(target=self.write)

    def write(self):
        with self.gate:
            self.entries.clear()

    def close(self):
        with self.gate:
            self.writer.start()
            self.writer.join()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        Cache().close()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
