"""A training loop over several hosts for the test bed; rank ODD leaves the common path at step 5.

Ranks come from the environment: RANK (torchrun), else SLURM_PROCID, else OMPI_COMM_WORLD_RANK.
"""

from __future__ import annotations

import os
import time

import torch
import torch.distributed as dist


def number(*names: str) -> int:
    return next(int(os.environ[name]) for name in names if name in os.environ)


def wait_for_a_file_that_never_comes() -> None:
    print("sick", flush=True)
    while not os.path.exists("/nonexistent/flag"):
        time.sleep(3600)


def train(rank: int, odd: int) -> None:
    weights = torch.ones(8)
    for step in range(10_000_000):
        if rank == odd and step == 5:
            wait_for_a_file_that_never_comes()
        dist.all_reduce(weights)
        weights /= dist.get_world_size()
        if step == 4:
            print("together", flush=True)
        time.sleep(0.05)


def main() -> None:
    rank = number("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
    world = number("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    train(rank, int(os.environ.get("ODD", "-1")))


if __name__ == "__main__":
    main()
