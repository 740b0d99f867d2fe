"""A loader worker is forked after torch started its OpenMP threads: its first parallel operation waits for them for ever."""

from _common import join_group, start

TRUTH = {"class": "fork-with-threads", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn")
NEEDS = ("torch",)


class Waves:
    """Item 5 of rank 1 is large enough to be computed by several threads."""

    def __init__(self, crew):
        self.crew = crew

    def __len__(self):
        return 64

    def __getitem__(self, index):
        import torch

        if self.crew.rank == 1 and index == 5:
            torch.set_num_threads(2)
            self.crew.await_others()
            self.crew.ready()
            return torch.sin(torch.ones(5_000_011))[:3]
        return torch.full((3,), float(index))


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.utils.data import DataLoader

    torch.set_num_threads(2)
    torch.sin(torch.ones(5_000_011))
    for batch in DataLoader(Waves(crew), batch_size=4, num_workers=1, multiprocessing_context="fork"):
        crew.arrive()
        dist.all_reduce(batch)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
