"""Rank 1 of three waits for the lock file of an extension build whose builder is gone."""

import pathlib

from _common import join_group, start

TRUTH = {"class": "file-lock-stale", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


def build(folder):
    from torch.utils.file_baton import FileBaton

    baton = FileBaton(str(folder / "lock"))
    if baton.try_acquire():
        baton.release()
    else:
        baton.wait()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    folder = pathlib.Path(crew.place / f"extensions-{rank}")
    folder.mkdir()
    if rank == 1:
        (folder / "lock").touch()
        crew.await_others()
        crew.ready()
    else:
        crew.arrive()
    build(folder)
    dist.all_reduce(torch.ones(3))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
