"""Rank 1 has as many files open as it may, and tries for ever to open one more."""

import logging
import os
import resource
import time

from _common import start, wait_until
from _ring import Ring

TRUTH = {"class": "resource-limit", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
LIMIT = 101


def open_part(crew, number):
    while True:
        try:
            return open(crew.place / f"part{number}", "a")
        except OSError as error:
            logging.warning("cannot open part %d, trying again: %s", number, error)
            time.sleep(0.3)


def report(crew, pid):
    """From another process, since this one cannot open anything any more."""
    if os.fork() == 0:
        crew.await_others()
        wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) == LIMIT)
        crew.ready()
        os._exit(0)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        report(crew, os.getpid())
        parts = [open_part(crew, number) for number in range(211)]
        ring.add(len(parts))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
