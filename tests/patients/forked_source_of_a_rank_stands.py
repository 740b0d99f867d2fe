"""Rank 0 has forked a source, which stands after some pieces; the others wait for what it should send on."""

import os
import select
import threading
import time

from _common import await_still, join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [0], "state": "stuck", "accept": ["child-dead"]}
LAUNCHERS = ("spawn", "torchrun")
NEEDS = ("torch",)


def pieces():
    inner, outer = os.pipe()
    if os.fork() == 0:
        os.close(inner)
        for piece in range(1_000_003):
            time.sleep(0.1 if piece < 5 else 10_007)
            try:
                os.write(outer, b"%08d" % piece)
            except BrokenPipeError:
                break
        os._exit(0)
    os.close(outer)
    while True:
        select.select([inner], [], [])
        yield int(os.read(inner, 8))


def report(crew):
    await_still([*crew.await_word("there", [0, 1]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    source = pieces() if rank == 0 else None
    dist = join_group(rank, world)
    import torch

    crew.arrive()
    row = torch.zeros(17)
    for step in range(1_000_003):
        if source is not None:
            row.fill_(next(source))
        else:
            dist.recv(row, rank - 1)
        if rank + 1 < world:
            dist.send(row, rank + 1)
        elif step == 4:
            threading.Thread(target=report, args=(crew,), daemon=True).start()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
