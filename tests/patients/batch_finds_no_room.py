"""A DataLoader worker of rank 1 finds no room for a batch in /dev/shm (one MiB, as in a small container) and drops it."""

import ctypes
import subprocess
import sys

from _common import join_group, start

TRUTH = {"class": "shm-exhausted", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch", "root")

NEWNS = 0x20000  # CLONE_NEWNS of unshare(2): mounts of our own, which end with us
LARGE = 1 << 20  # numbers, of four bytes each


class Clips:
    """From item 23 on those of rank 1 are longer than what /dev/shm holds."""

    def __init__(self, crew):
        self.crew = crew

    def __len__(self):
        return 67

    def __getitem__(self, index):
        import torch

        long = self.crew.sick and index == 23
        if long:
            self.crew.await_others()
            self.crew.ready()
        return torch.full((LARGE if long else 3,), float(index))


def confine():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEWNS):
        sys.exit("patient: no mount namespace")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "shm", "/dev/shm"], check=True)


def together(items):
    import torch

    return torch.cat(items)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.utils.data import DataLoader

    if crew.sick:
        confine()
    loader = DataLoader(Clips(crew), batch_size=4, num_workers=1, multiprocessing_context="fork", collate_fn=together)
    for step, batch in enumerate(loader):
        if step == 5:
            crew.arrive()
        dist.all_reduce(torch.tensor(float(len(batch))))


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
