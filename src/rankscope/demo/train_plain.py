"""The same without PyTorch: four processes that meet at a barrier after each step. At step 12, rank 3 waits for a file that
nobody writes, and the others wait for rank 3."""

from __future__ import annotations

import multiprocessing
import os
import time
from multiprocessing.synchronize import Barrier

WORLD = 4


def train(rank: int, barrier: Barrier) -> None:
    for step in range(1000):
        if step == 12:
            print(f"rank {rank} reached step {step}", flush=True)
            if rank == 3:
                wait_for_shard(f"/nonexistent/shard-{step}")
        sum(i * i for i in range(1000))
        barrier.wait()


def wait_for_shard(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.2)


def main() -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(WORLD)
    ranks = [context.Process(target=train, args=(rank, barrier)) for rank in range(WORLD)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()


if __name__ == "__main__":
    main()
