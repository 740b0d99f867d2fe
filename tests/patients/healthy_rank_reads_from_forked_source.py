"""Healthy: rank 0 has forked a source, which gives it a piece now and then; the pieces go from rank to rank."""

import os
import select
import time

from _common import join_group, start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("spawn", "torchrun")
NEEDS = ("torch",)


def pieces():
    inner, outer = os.pipe()
    if os.fork() == 0:
        os.close(inner)
        for piece in range(1_000_003):
            time.sleep(0.7)
            try:
                os.write(outer, b"%08d" % piece)
            except BrokenPipeError:
                break
        os._exit(0)
    os.close(outer)
    while True:
        select.select([inner], [], [])
        yield int(os.read(inner, 8))


def train(rank, world, crew):
    source = pieces() if rank == 0 else None
    dist = join_group(rank, world)
    import torch

    row = torch.zeros(17)
    for step in range(1_000_003):
        if source is not None:
            row.fill_(next(source))
        else:
            dist.recv(row, rank - 1)
        if rank + 1 < world:
            dist.send(row, rank + 1)
        elif step == 5:
            crew.ready(stuck_after=2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
