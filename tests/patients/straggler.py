"""Not a hang: rank 2 needs far longer for its part of every step, and the others wait for it."""

import time

from _common import join_group, start

TRUTH = {"class": "straggler-slow-rank", "ranks": [2], "state": "slow"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def prepare(rank):
    end = time.monotonic() + (0.9 if rank == 2 else 0.01)
    while time.monotonic() < end:
        sum(range(1009))


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(100_000):
        prepare(rank)
        if step == 5 and rank == 0:
            crew.ready()
        dist.all_reduce(torch.ones(3))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
