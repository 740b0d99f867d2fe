"""Four ranks hand keys around a ring; rank 2 counts its rounds by a shorter sequence and reduces before the others."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {
    "class": "collective-missed-by-rank", "ranks": [2], "state": "stuck",
    "accept": ["p2p-order-deadlock", "collective-mismatch"],
}  # fmt: skip
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    await_still([*crew.await_word("there", (0, 1, 3)), os.getpid()])
    crew.ready()


def hand_around(dist, torch, keys, rounds):
    rank, world = dist.get_rank(), dist.get_world_size()
    total = keys.clone()
    for _ in range(rounds):
        arrived = torch.empty_like(keys)
        for work in (dist.isend(keys, (rank + 1) % world), dist.irecv(arrived, (rank - 1) % world)):
            work.wait()
        keys = arrived
        total += keys
    return total


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(13):
        rounds = 1 if (rank, step) == (2, 7) else 3
        if step == 7:
            crew.arrive()
            if rank == 2:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        total = hand_around(dist, torch, torch.full((17,), float(rank)), rounds)
        dist.all_reduce(total)


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
