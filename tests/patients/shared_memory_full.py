"""Rank 1 cannot hand its batch over: /dev/shm (one MiB here, as in a small container) is full, and it tries again for ever."""

import os
import time

from _common import start, with_small_shared_memory
from _ring import Ring

TRUTH = {"class": "shm-exhausted", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("root",)


def pack(crew):
    crew.await_others()
    size = 0
    for attempt in range(1_000_000):
        with open("/dev/shm/batch-23", "ab") as out:
            try:
                while True:
                    os.posix_fallocate(out.fileno(), size, 65_536)
                    size += 65_536
            except OSError:
                if attempt == 1:
                    crew.ready()
                time.sleep(0.3)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        with_small_shared_memory()
        pack(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
