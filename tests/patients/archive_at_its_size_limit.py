"""Rank 1's archive may not grow further (RLIMIT_FSIZE, set from outside as a site's prolog does): EFBIG again and again."""

import os
import resource
import threading
import time

from _common import outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "resource-limit", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

PROLOG = "import resource, sys\nresource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE, (70_001, 70_001))"


def append(archive, piece):
    while True:
        try:
            return archive.write(piece)
        except OSError:
            time.sleep(1.1)


def report(crew):
    crew.await_others()
    wait_until(lambda: os.stat(crew.place / "archive.bin").st_size == 70_001)
    time.sleep(1.3)
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        outside(PROLOG, os.getpid())
        wait_until(lambda: resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 70_001)
        with open(crew.place / "archive.bin", "ab", buffering=0) as archive:
            threading.Thread(target=report, args=(crew,), daemon=True).start()
            for number in range(1_009):
                append(archive, bytes([number % 251]) * 10_007)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
