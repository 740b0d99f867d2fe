"""A healthy job without torch: three ranks that exchange a number over sockets in every step."""

import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell", "forked", "spawned", "mpirun")


def train(rank, world, crew):
    ring = Ring(rank, world)
    total = 0
    for step in range(1_000_000):
        total = ring.add(step)
        time.sleep(0.05)
        if rank == 0 and step == 7:
            crew.ready()
    return total


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
