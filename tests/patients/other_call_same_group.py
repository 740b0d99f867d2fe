"""Rank 1 calls broadcast where the others call all_reduce, on the same group and as the same call in order."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-mismatch", "ranks": [1], "state": "stuck", "accept": ["collective-missed-by-rank"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [0, 2]), os.getpid()])
    crew.ready()


def sync(dist, tensor, first):
    if first:
        dist.broadcast(tensor, src=1)
    else:
        dist.all_reduce(tensor)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(7):
        if step == 5:
            crew.arrive()
            if rank == 1:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        sync(dist, torch.full((1_009,), float(step)), first=rank == 1 and step == 5)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
