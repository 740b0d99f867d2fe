"""Rank 3 of four is stopped by SIGSTOP while the others wait for it in the gradient all_reduce."""

import os
import signal

from _common import join_group, start

TRUTH = {"class": "process-stopped", "ranks": [3], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn", "forked")
NEEDS = ("torch",)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(torch.nn.Linear(7, 3))
    for step in range(11):
        loss = model(torch.ones(2, 7)).sum()
        if step == 5:
            if rank == 3:
                crew.await_others()
                crew.ready()
                os.kill(os.getpid(), signal.SIGSTOP)
            crew.arrive()
        loss.backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
