"""Ranks 0 and 1 use group A before group B, ranks 2 and 3 use B before A: each pair waits for the other."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-cycle", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [1, 2, 3]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    groups = [dist.new_group(), dist.new_group()]
    for step in range(5):
        if step == 3:
            crew.arrive()
            if rank == 0:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        for group in reversed(groups) if step == 3 and rank > 1 else groups:
            dist.all_reduce(torch.ones(7), group=group)


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
