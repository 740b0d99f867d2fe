"""Ranks 0 and 1 take two locks of the package filelock in opposite order, and poll for the second one; rank 2 waits for them."""

import os
import threading
import time

from _common import await_still, join_group, start

TRUTH = {
    "class": "lock-order-deadlock", "ranks": [], "state": "stuck", "cycle": True, "accept_ranks": [[0, 1], [0], [1]],
}  # fmt: skip
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def copy(first, second, crew):
    import filelock  # torch needs it as well

    with filelock.FileLock(crew.place / f"{first}.lock"):
        crew.arrive()
        crew.await_word("there", (0, 1))
        with filelock.FileLock(crew.place / f"{second}.lock"):
            (crew.place / second).write_text((crew.place / first).read_text())


def report(crew):
    crew.await_word("there", (0, 1))
    time.sleep(1)
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(5):
        dist.all_reduce(torch.full((7,), float(step)))
    if rank == 0:
        copy("words", "pairs", crew)
    elif rank == 1:
        copy("pairs", "words", crew)
    else:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    dist.barrier()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
