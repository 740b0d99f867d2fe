"""Rank 2 posts a receive for its left halo from rank 0 instead of rank 1: all wait for messages, of which one is never sent."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", range(1, crew.world)), os.getpid()])
    crew.ready()


def exchange(dist, field, left, right):
    import torch

    halos, calls = [], []
    for here, there, edge in ((left, right, field[-1:]), (right, left, field[:1])):
        halos.append(torch.zeros_like(edge))
        calls.append(dist.P2POp(dist.isend, edge.contiguous(), there))
        calls.append(dist.P2POp(dist.irecv, halos[-1], here))
    for call in dist.batch_isend_irecv(calls):
        call.wait()
    return halos


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    field = torch.ones(9, 300)
    for step in range(41):
        stride = 2 if rank == 2 and step == 19 else 1
        if step == 19:
            crew.arrive()
            if rank == 0:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        above, below = exchange(dist, field, (rank - stride) % world, (rank + 1) % world)
        field = (field + above + below) / 3


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
