"""A healthy job that is merely slow: every step takes a second and a half, and all ranks go through it together."""

import time

from _common import join_group, start

TRUTH = {"class": None, "ranks": [], "state": "slow", "accept": ["not-a-hang-slow"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def load(step):
    time.sleep(1.5)
    return step


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(100_000):
        batch = torch.full((3,), float(load(step)))
        if step == 3 and rank == 0:
            crew.ready()
        dist.all_reduce(batch)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
