"""A training loop over several hosts for the test bed; rank ODD leaves the common path at step 5: it waits for a flag, or,
where DEAD names a file, its loader worker reads that file.

Ranks come from the environment: RANK (torchrun), else SLURM_PROCID, else OMPI_COMM_WORLD_RANK, else PMI_RANK.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


def number(*names: str) -> int:
    return next(int(os.environ[name]) for name in names if name in os.environ)


def wait_for_a_file_that_never_comes() -> None:
    print("sick", flush=True)
    while not os.path.exists("/nonexistent/flag"):
        time.sleep(3600)


class Shards(Dataset):
    """Batches, one of which lies on a server that does not answer."""

    def __init__(self, odd: bool) -> None:
        self.odd = odd

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.odd and index == 5:
            print("sick", flush=True)
            with open(os.environ["DEAD"], "rb") as shard:
                shard.read()
        return torch.ones(8)


def batches(odd: bool) -> Iterator[torch.Tensor]:
    if "DEAD" in os.environ:
        yield from DataLoader(Shards(odd), batch_size=None, num_workers=1)
    while True:
        yield torch.ones(8)


def train(rank: int, odd: int) -> None:
    for step, weights in enumerate(batches(rank == odd)):
        if rank == odd and step == 5 and "DEAD" not in os.environ:
            wait_for_a_file_that_never_comes()
        dist.all_reduce(weights)
        weights /= dist.get_world_size()
        if step == 4:
            print("together", flush=True)
        time.sleep(0.05)


def main() -> None:
    rank = number("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    world = number("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    train(rank, int(os.environ.get("ODD", "-1")))


if __name__ == "__main__":
    main()
