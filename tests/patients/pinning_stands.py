"""The thread of rank 1's loader that pins batches never comes back from pinning one; rank 1 waits for it and rank 0 for rank 1.

There need be no device: torch is told that there is one, so that its loader starts this thread, and the batch pins itself.
"""

import threading

from _common import join_group, start

TRUTH = {"class": "dataloader-worker-deadlock", "ranks": [1], "state": "stuck", "accept": ["rank-stuck-in-user-code"]}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


class Batch:
    """Items that know how to pin themselves."""

    crew = None

    def __init__(self, items):
        self.items = items

    def pin_memory(self):
        if Batch.crew.rank == 1 and 23 in self.items:
            Batch.crew.await_others()
            Batch.crew.ready()
            threading.Event().wait()
        return self


def pretend():
    import torch

    torch.accelerator.is_available = lambda: True
    torch.accelerator.current_device_index = lambda: 0
    torch.accelerator.set_device_index = lambda index: None
    torch.accelerator.current_accelerator = lambda: torch.device("cpu")


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.utils.data import DataLoader

    pretend()
    Batch.crew = crew
    loader = DataLoader(range(67), batch_size=4, num_workers=2, pin_memory=True, collate_fn=Batch,
                        multiprocessing_context="fork")  # fmt: skip
    for step, batch in enumerate(loader):
        if step == 5:
            crew.arrive()
        dist.all_reduce(torch.full((3,), float(sum(batch.items))))


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
