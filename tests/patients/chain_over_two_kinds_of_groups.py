"""Rank 3 of a 2 × 2 mesh stays in its own code: 2 waits for it in their row, 0 and 1 one behind the other in the columns."""

import threading

from _common import join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [3], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def gather(step, rank, crew):
    if step == 5 and rank == 3:
        crew.await_others()
        crew.ready()
        threading.Event().wait()
    return step


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    rows = [dist.new_group(members) for members in ([0, 1], [2, 3])]
    columns = [dist.new_group(members) for members in ([0, 2], [1, 3])]
    for step in range(7):
        if step == 5:
            crew.arrive()
        value = torch.full((3,), float(gather(step, rank, crew)))
        dist.all_reduce(value, group=rows[rank // 2])
        dist.all_reduce(value, group=columns[rank % 2])


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
