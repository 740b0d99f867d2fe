"""A healthy job with steps of 20 s, of which the first rank waits 15 s in the all_reduce for the second, every time."""

import time

from _common import join_group, start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch",)


def compute(seconds):
    end = time.monotonic() + seconds
    value = 1
    while time.monotonic() < end:
        value = value * 48_271 % 2_147_483_647
        if value % 64 == 0:
            time.sleep(0.01)
    return value


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(1000):
        compute(20 if rank == 1 else 5)
        if step == 1 and rank == 0:
            crew.ready()
        dist.all_reduce(torch.ones(3))


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
