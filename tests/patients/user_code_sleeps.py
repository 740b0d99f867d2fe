"""Rank 2 of four stays in a function of its own before the gradient all_reduce that the others are in."""

import time

from _common import join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def refresh(step, crew):
    if crew.rank == 2 and step == 5:
        crew.await_others()
        crew.ready()
        time.sleep(100_000)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(torch.nn.Linear(7, 3))
    for step in range(11):
        refresh(step, crew)
        if step == 5:
            crew.arrive()
        model(torch.ones(2, 7)).sum().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
