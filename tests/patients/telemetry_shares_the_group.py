"""A thread of each rank gathers figures over the group in which its main thread reduces; once the ranks come in another order."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "collective-mismatch", "ranks": [], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)


def gather(dist, turn, crew):
    for figure in range(5):
        turn.wait()
        turn.clear()
        dist.all_gather_object([None, None], figure)
        crew.arrive(f"gathered{figure}")


def follow(crew, turn, gatherer):
    await_still([os.getpid()])
    turn.set()
    await_still([gatherer.native_id])
    crew.arrive("both")


def report(crew):
    crew.await_word("both", [0])
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    import torch

    dist, turn = join_group(rank, world), threading.Event()
    gatherer = threading.Thread(target=gather, args=(dist, turn, crew), daemon=True)
    gatherer.start()
    for figure in range(3):
        turn.set()
        crew.await_word(f"gathered{figure}", range(world))
        dist.all_reduce(torch.ones(11))
    if rank == 0:
        threading.Thread(target=follow, args=(crew, turn, gatherer), daemon=True).start()
    else:
        turn.set()
        await_still([gatherer.native_id])
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    dist.all_reduce(torch.ones(13))


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
