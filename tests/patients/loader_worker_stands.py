"""A DataLoader worker of rank 1 never comes back from __getitem__; rank 1 waits for it and rank 0 for rank 1."""

import threading

from _common import join_group, start

TRUTH = {"class": "dataloader-worker-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


class Pictures:
    """Item 23 of rank 1 waits for an answer that does not come."""

    def __init__(self, crew):
        self.crew = crew
        self.answer = threading.Event()

    def __len__(self):
        return 67

    def __getitem__(self, index):
        import torch

        if self.crew.rank == 1 and index == 23:
            self.crew.await_others()
            self.crew.ready()
            self.answer.wait()
        return torch.full((3,), float(index))


def train(rank, world, crew):
    dist = join_group(rank, world)
    from torch.utils.data import DataLoader

    for step, batch in enumerate(
        DataLoader(Pictures(crew), batch_size=4, num_workers=2, multiprocessing_context="fork")
    ):
        if step == 5:
            crew.arrive()
        dist.all_reduce(batch)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
