"""A barrier under ``if rank == 0`` when a checkpoint is due; the others are already in the next gradient all_reduce."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [0], "state": "stuck", "accept": ["collective-mismatch"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [1, 2]), os.getpid()])
    crew.ready()


def save(dist, model, step):
    dist.barrier()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(torch.nn.Linear(701, 103))
    for step in range(11):
        if step == 5:
            crew.arrive()
            if rank == 0:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        if rank == 0 and step == 5:
            save(dist, model, step)
        model(torch.ones(2, 701)).sum().backward()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
