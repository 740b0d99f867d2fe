"""Healthy: all ranks are bound to one core, so that each of them waits for the CPU most of the time."""

import os

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)


def train(rank, world, crew):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.nice(5)
    ring = Ring(rank, world)
    for step in range(1_000_003):
        sum(range(1_000_003 * (rank + 1)))
        ring.add(step)
        if step == 7 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
