"""Ranks 0 and 1 poll a counter in the store until all have come; rank 2 stands in its own code and never adds to it."""

import threading
import time

from _common import join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def meet(store, world):
    store.add("epoch1", 1)
    while store.add("epoch1", 0) < world:
        time.sleep(0.05)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    store = dist.distributed_c10d._get_default_store()
    dist.all_reduce(torch.ones(3))
    if crew.sick:
        crew.await_word("there", [0, 1])
        time.sleep(1)
        crew.ready()
        threading.Event().wait()
    crew.arrive()
    meet(store, world)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
