"""Healthy: every step is one call into C code that keeps the GIL for a good second, and then the next."""

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("alone", "shell")


def train(rank, world, crew):
    ring = Ring(rank, world)
    for step in range(1_000_000):
        sum(range(29_000_000))
        ring.add(step)
        if rank == 0 and step == 3:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
