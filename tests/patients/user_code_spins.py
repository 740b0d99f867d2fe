"""Rank 1 of three computes for ever in a loop of its own while the others wait in an all_reduce."""

from _common import join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("spawn", "torchrun", "forked")
NEEDS = ("torch",)


def tune(value):
    while value != 1.0:
        value = value / 3 * 3 + 2.0
    return value


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(7):
        loss = torch.ones(3)
        if step == 4:
            if rank == 1:
                crew.await_others()
                crew.ready()
                tune(7.0)
            crew.arrive()
        dist.all_reduce(loss)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
