"""Rank 2 waits in the store for a key that nobody sets, while the others are in the next all_reduce."""

import datetime
import threading

from _common import await_still, join_group, start

TRUTH = {
    "class": "collective-missed-by-rank", "ranks": [2], "state": "stuck",
    "accept": ["rank-stuck-in-user-code", "store-timeout"],
}  # fmt: skip
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def report(crew):
    crew.await_others()
    await_still([threading.main_thread().native_id])
    crew.ready()


def settle(dist, step):
    dist.distributed_c10d._get_default_store().wait([f"cache/{step}"], datetime.timedelta(hours=1))


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(7):
        if step == 5:
            if rank == 2:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
                settle(dist, step)
            crew.arrive()
        dist.all_reduce(torch.full((3,), float(step)))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
