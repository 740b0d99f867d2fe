"""Two ranks send each other a large tensor with torch.distributed.send before either receives."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("spawn", "torchrun")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [1]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    dist.all_reduce(torch.ones(1))
    mine, theirs = torch.ones(10_000_019), torch.zeros(10_000_019)
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    dist.send(mine, 1 - rank)
    dist.recv(theirs, 1 - rank)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
