"""Rank 1 sends to rank 0, which has gone on to the next all_reduce and never receives."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {
    "class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "accept_ranks": [[1], [0]],
    "accept": ["collective-missed-by-rank", "collective-cycle"],
}  # fmt: skip
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [0, 2]), os.getpid()])
    crew.ready()


def hand_over(dist, tensor, rank, receives):
    if rank == 1:
        dist.send(tensor, dst=0)
    elif rank == 0 and receives:
        dist.recv(tensor, src=1)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(7):
        if step == 5:
            crew.arrive()
            if rank == 1:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        hand_over(dist, torch.full((8_000_009,), float(step)), rank, receives=step < 5)
        dist.all_reduce(torch.full((1_009,), float(step)))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
