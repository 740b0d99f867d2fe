"""Ranks 0 and 1 ask the store again and again whether rank 2 is there; rank 2 was killed before it said so."""

import os
import signal
import time

from _common import join_group, start

TRUTH = {
    "class": "dead-rank",
    "ranks": [2],
    "state": "stuck",
    "accept": ["rank-never-joined", "collective-missed-by-rank"],
}
LAUNCHERS = ("forked", "shell")
NEEDS = ("torch",)


def await_all(store, world):
    while not store.check([f"epoch1/{rank}" for rank in range(world)]):
        time.sleep(0.05)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    store = dist.distributed_c10d._get_default_store()
    dist.all_reduce(torch.ones(3))
    if rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    store.set(f"epoch1/{rank}", "there")
    if rank == 0:
        crew.await_word("there", [1])
        time.sleep(1)
        crew.ready()
    crew.arrive()
    await_all(store, world)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
