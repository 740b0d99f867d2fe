"""Rank 1 has one batch fewer than the others: it is in the evaluation's gather while they train on."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [1], "state": "stuck", "accept": ["collective-mismatch"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [0, 2]), os.getpid()])
    crew.ready()


def evaluate(dist, world, score):
    scores = [None] * world
    dist.all_gather_object(scores, score)
    return scores


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(torch.nn.Linear(7, 3))
    batches = [torch.ones(2, 7)] * (10 if rank == 1 else 11)
    for number, batch in enumerate(batches):
        if number == 10:
            crew.arrive()
        model(batch).sum().backward()
    if rank == 1:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    evaluate(dist, world, 0.7)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
