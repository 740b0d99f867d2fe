"""Rank 2 broadcasts its table once more than the others: from there on its calls meet other calls of its peers."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-mismatch", "ranks": [2], "state": "stuck", "accept": ["collective-missed-by-rank"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [0, 1, 3, 4]), os.getpid()])
    crew.ready()


def share(dist, table):
    dist.broadcast(table, src=2)


def sync(dist, tensor):
    dist.all_reduce(tensor)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    table = torch.ones(503)
    for step in range(11):
        if step % 5 == 0:
            share(dist, table)
        if step == 7:
            crew.arrive()
            if rank == 2:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
                share(dist, table)  # the table of this rank has changed
        sync(dist, torch.full((1_009,), float(step)))


if __name__ == "__main__":
    start(train, TRUTH, world=5, launchers=LAUNCHERS)
