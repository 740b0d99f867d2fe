"""At the end of an epoch the ranks meet in ``monitored_barrier``; rank 2 still has the plain barrier of older settings."""

import datetime
import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [2], "state": "stuck", "accept": ["collective-mismatch"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def meet(dist, monitored):
    if monitored:
        dist.monitored_barrier(timeout=datetime.timedelta(minutes=30), wait_all_ranks=True)
    else:
        dist.barrier()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for _ in range(11):
        dist.all_reduce(torch.ones(13))
    crew.arrive()
    if crew.sick:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    meet(dist, monitored=not crew.sick)
    dist.all_reduce(torch.ones(17))


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
