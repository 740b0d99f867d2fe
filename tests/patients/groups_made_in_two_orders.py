"""Rank 0 makes the group of two before that of all, ranks 1 and 2 make that of all first: they wait for each other in both."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {
    "class": "collective-mismatch", "ranks": [0], "state": "stuck",
    "accept": ["rank-never-joined", "collective-missed-by-rank", "collective-cycle"],
}  # fmt: skip
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [1, 2]), os.getpid()])
    crew.ready()


def prepare(dist, pair, first):
    if first:
        dist.new_group(pair, use_local_synchronization=True)
    everybody = dist.new_group([0, 1, 2], use_local_synchronization=True)
    if not first:
        dist.new_group(pair, use_local_synchronization=True)
    return everybody


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    dist.all_reduce(torch.ones(7))
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    dist.all_reduce(torch.ones(7), group=prepare(dist, [0, 1], rank == 0))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
