"""A healthy job: four ranks train with small steps and nothing is wrong."""

import time

from _common import join_group, start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("torchrun", "spawn", "accelerate", "deepspeed", "mpirun")
NEEDS = ("torch",)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(torch.nn.Linear(7, 3))
    step = 0
    while True:
        model(torch.ones(2, 7)).sum().backward()
        total = torch.ones(1)
        dist.all_reduce(total)
        time.sleep(0.02)
        step += 1
        if rank == 0 and step == 23:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
