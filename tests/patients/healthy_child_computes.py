"""Healthy: rank 1 joins a child that computes for long, and the others wait for rank 1."""

import multiprocessing

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)


def index(crew):
    crew.await_others()
    total = 0
    for number in range(1_000_000_000):
        total = (total * 31 + number) % 1_000_003
        if number == 3_000_000:
            crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == 1:
        child = multiprocessing.get_context("fork").Process(target=index, args=(crew,))
        child.start()
        child.join()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
