"""All ranks make a group of all on one line; before that, all but the last one have made a group of their own."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {
    "class": "collective-missed-by-rank", "ranks": [3], "state": "stuck",
    "accept": ["rank-never-joined", "collective-mismatch"],
}  # fmt: skip
LAUNCHERS = ("spawn", "torchrun")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [0, 1, 2]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    if rank < world - 1:
        dist.all_reduce(torch.ones(7), group=dist.new_group(list(range(world - 1))))
    else:
        crew.await_word("there", [0, 1, 2])
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    crew.arrive()
    dist.barrier(group=dist.new_group(list(range(world))))


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
