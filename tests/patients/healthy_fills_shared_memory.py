"""Healthy: the ranks have taken all of /dev/shm (a small one of their own) for their buffers, as they may, and work."""

import os
import time

from _common import start, with_small_shared_memory
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root",)


def reserve():
    with_small_shared_memory()
    buffer = open("/dev/shm/buffer", "wb")
    os.posix_fallocate(buffer.fileno(), 0, 1 << 20)
    return buffer


def train(rank, world, crew):
    buffer = reserve()
    ring = Ring(rank, world)
    for step in range(1_000_000):
        time.sleep(0.05)
        ring.add(step + buffer.fileno())
        if rank == 0 and step == 7:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
