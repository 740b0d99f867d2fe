"""Healthy: children of rank 1 share a manager's lock and list, and meet after each piece; the others wait for rank 1."""

import multiprocessing
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


def convert(gate, results, meet):
    for piece in range(1_000_003):
        with gate:
            results.append(piece)
            time.sleep(0.05)
        del results[:]
        sum(range(300_007))
        meet.wait()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == world // 2:
        crew.await_others()
        context = multiprocessing.get_context("fork")
        manager = context.Manager()
        gate, results, meet = manager.Lock(), manager.list(), context.Barrier(3)
        children = [context.Process(target=convert, args=(gate, results, meet)) for _ in range(3)]
        for child in children:
            child.start()
        time.sleep(3)
        crew.ready()
        for child in children:
            child.join()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
