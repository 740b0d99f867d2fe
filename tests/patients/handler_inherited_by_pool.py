"""Rank 0's handler of SIGTERM only takes a note, and its pool's workers inherited it: the pool waits for their end in vain."""

import multiprocessing
import os
import signal
import threading
import time

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [0], "state": "stuck", "accept": ["exit-hang"]}
LAUNCHERS = ("shell", "spawned")

noted = threading.Event()


def note(number, frame):
    noted.set()


def convert(number):
    time.sleep(0.2)
    return number * number


def report(crew):
    pids = crew.await_word("there", [0])
    time.sleep(1)
    await_still([*pids, os.getpid()])
    crew.ready()


def train(rank, world, crew):
    signal.signal(signal.SIGTERM, note)
    ring = Ring(rank, world)
    total = ring.add(1)
    if rank == 1:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    if crew.sick:
        with multiprocessing.get_context("fork").Pool(3) as pool:
            squares = pool.imap_unordered(convert, range(101))
            total = sum(next(squares) for _ in range(7))
            crew.arrive()
    ring.add(total)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
