"""Pipeline neighbours 0 and 1 both receive before they send: a cycle of two."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("spawn", "torchrun")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", [1]), os.getpid()])
    crew.ready()


def exchange(dist, torch, rank, step):
    other, mine, theirs = 1 - rank, torch.full((7,), float(step)), torch.zeros(7)
    first, second = (dist.send, dist.recv) if rank == 0 and step < 5 else (dist.recv, dist.send)
    first(mine if first is dist.send else theirs, other)
    second(mine if second is dist.send else theirs, other)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(7):
        if step == 5:
            crew.arrive()
            if rank == 0:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        exchange(dist, torch, rank, step)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
