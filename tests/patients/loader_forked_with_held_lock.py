"""A thread of rank 1 holds a lock of the data set when the loader workers are forked; they wait for it for ever."""

import threading
import time

from _common import join_group, start

TRUTH = {"class": "fork-with-threads", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


class Pictures:
    """Pictures that are read ahead by a thread."""

    def __init__(self, crew):
        self.crew, self.gate = crew, threading.Lock()

    def read_ahead(self):
        with self.gate:
            time.sleep(100_000)

    def __len__(self):
        return 64

    def __getitem__(self, index):
        import torch

        if self.crew.rank == 1 and index == 4:
            self.crew.await_others()
            self.crew.ready()
        with self.gate:
            return torch.full((3,), float(index))


def train(rank, world, crew):
    dist = join_group(rank, world)
    from torch.utils.data import DataLoader

    data = Pictures(crew)
    if rank == 1:
        threading.Thread(target=data.read_ahead, daemon=True).start()
    for batch in DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="fork"):
        crew.arrive()
        dist.all_reduce(batch)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
