"""Healthy: the loader workers need more than a second for a batch, and everybody waits for them in every step."""

import time

from _common import join_group, start

TRUTH = {"class": None, "ranks": [], "state": "slow", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch",)


class Pictures:
    """Pictures from a slow place."""

    def __len__(self):
        return 100_003

    def __getitem__(self, index):
        import torch

        time.sleep(0.7)
        return torch.full((3,), float(index))


def train(rank, world, crew):
    dist = join_group(rank, world)
    from torch.utils.data import DataLoader

    for step, batch in enumerate(DataLoader(Pictures(), batch_size=2, num_workers=1)):
        if step == 2 and rank == 0:
            crew.ready()
        dist.all_reduce(batch)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
