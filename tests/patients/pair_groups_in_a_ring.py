"""Each of three ranks begins with another of the groups of two, on the same line; no recorder is there to tell which."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-cycle", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [1, 2]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    os.environ["TORCH_FR_BUFFER_SIZE"] = "0"
    dist = join_group(rank, world)
    import torch

    groups = [dist.new_group(pair) for pair in ((0, 1), (1, 2), (0, 2))]
    mine = [groups[rank], groups[rank - 1]]
    dist.all_reduce(torch.ones(1))
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    for group in mine:
        dist.all_reduce(torch.ones(7), group=group)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
