"""Ranks 0 and 2 make a group of all ranks; rank 1 has gone on to an all_reduce."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [1], "state": "stuck", "accept": ["rank-never-joined"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [0, 2]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    total = torch.ones(7)
    dist.all_reduce(total)
    crew.arrive()
    if rank != 1:
        total = dist.all_reduce(total, group=dist.new_group())
    else:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    dist.all_reduce(total)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
