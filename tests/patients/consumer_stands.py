"""Rank 1 waits for room in a queue whose reader, a thread of its own, waits in the job's code for something else for ever."""

import os
import queue
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def write(parts):
    while parts.get():
        threading.Event().wait()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        parts = queue.Queue(3)
        threading.Thread(target=write, args=(parts,), daemon=True).start()
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        for number in range(1, 11):
            parts.put(number)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
