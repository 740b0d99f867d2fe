"""Rank 0 takes one result more, from whoever is first, than there are: all others have gone on to the barrier."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [0], "state": "stuck",
         "accept": ["collective-missed-by-rank", "collective-cycle"]}  # fmt: skip
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def collect(dist, torch, world):
    total = 0.0
    for _ in range(world):
        part = torch.zeros(211)
        dist.recv(part)
        total += float(part[0])
    return total


def report(crew):
    await_still([*crew.await_word("there", [1, 2, 3, 4]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(6):
        dist.all_reduce(torch.full((1_009,), float(step)))
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        collect(dist, torch, world)
    else:
        dist.send(torch.full((211,), float(rank)), dst=0)
    dist.barrier()


if __name__ == "__main__":
    start(train, TRUTH, world=5, launchers=LAUNCHERS)
