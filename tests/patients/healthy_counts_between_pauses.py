"""Healthy: rank 0 evaluates piece by piece, with a pause after each, while the others wait for it."""

import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "served")


def evaluate(crew):
    for piece in range(1_000_003):
        sum(range(piece % 1_009))
        time.sleep(0.09)
        if piece == 17:
            crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == 0:
        crew.await_others()
        evaluate(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
