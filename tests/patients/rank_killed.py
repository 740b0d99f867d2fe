"""Rank 1 of three is SIGKILLed; the others wait in the store for the part that it never announces."""

import datetime
import os
import signal

from _common import join_group, start

TRUTH = {"class": "dead-rank", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("forked", "shell")
NEEDS = ("torch",)


def save(step, rank, world, dist):
    store = dist.distributed_c10d._get_default_store()
    store.set(f"part/{step}/{rank}", "done")
    store.wait([f"part/{step}/{other}" for other in range(world)], datetime.timedelta(hours=1))


def train(rank, world, crew):
    dist = join_group(rank, world)
    for step in range(5):
        if step == 3:
            if rank == 1:
                crew.await_others()
                crew.ready()
                os.kill(os.getpid(), signal.SIGKILL)
            crew.arrive()
        save(step, rank, world, dist)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
