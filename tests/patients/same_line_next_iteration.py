"""Rank 2 of three is one iteration ahead: all stand on one line, but in all_reduces of different groups."""

from _common import join_group, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def batches(rank):
    for step in range(29):
        if not (rank == 2 and step == 13):
            yield step


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    groups = [dist.new_group() for _ in range(2)]
    for step in batches(rank):
        total = torch.full((5,), float(step))
        if step == 14 and rank == 2:
            crew.await_others()
            crew.ready()
        if step == 13:
            crew.arrive()
        dist.all_reduce(total, group=groups[step % 2])


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
