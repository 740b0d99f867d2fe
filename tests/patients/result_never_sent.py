"""Rank 0 takes results from whoever is first; one worker, rank 3, sits on its own, and all others have gone on to the barrier."""

import threading
import time

from _common import join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [3], "state": "stuck",
         "accept": ["p2p-order-deadlock", "collective-missed-by-rank"]}  # fmt: skip
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def work():
    while True:
        time.sleep(3_600)


def collect(dist, torch, world):
    total = 0.0
    for _ in range(world - 1):
        part = torch.zeros(211)
        dist.recv(part)
        total += float(part[0])
    return total


def report(crew):
    crew.await_others()
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(6):
        dist.all_reduce(torch.full((1_009,), float(step)))
    crew.arrive()
    if rank == 0:
        collect(dist, torch, world)
    elif crew.sick:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        work()
    else:
        dist.send(torch.full((211,), float(rank)), dst=0)
    dist.barrier()


if __name__ == "__main__":
    start(train, TRUTH, world=5, launchers=LAUNCHERS)
