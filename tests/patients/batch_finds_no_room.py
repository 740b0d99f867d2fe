"""A DataLoader worker of rank 1 finds no room for a batch in /dev/shm (one MiB, as in a small container) and drops it."""

from _common import join_group, start, with_small_shared_memory

TRUTH = {"class": "shm-exhausted", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch", "root")

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


def together(items):
    import torch

    return torch.cat(items)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.utils.data import DataLoader

    if crew.sick:
        with_small_shared_memory()
    loader = DataLoader(Clips(crew), batch_size=4, num_workers=1, multiprocessing_context="fork", collate_fn=together)
    for step, batch in enumerate(loader):
        if step == 5:
            crew.arrive()
        dist.all_reduce(torch.tensor(float(len(batch))))


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
