"""Rank 3 makes groups of one, the others of two: rank 2 makes a group with it, while it has gone on to an all_reduce."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [3], "state": "stuck"}
LAUNCHERS = ("shell", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", range(1, crew.world)), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    dist.all_reduce(torch.ones(7))
    size = 1 if rank == 3 else 2
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    mine, _ = dist.new_subgroups_by_enumeration([list(range(at, at + size)) for at in range(0, world, size)])
    for step in range(11):
        total = torch.full((7,), float(step))
        dist.all_reduce(total, group=mine)
        dist.all_reduce(total)


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
