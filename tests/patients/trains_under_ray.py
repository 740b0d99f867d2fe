"""Rank 1 of Ray Train sleeps in a thread that is not the main one; nothing but Ray itself has numbered the ranks."""

import os
import time

from _common import Crew, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("ray",)
NEEDS = ("torch", "ray", "pandas", "pyarrow", "tensorboardX")  # what "ray[train]" brings


def fetch():
    time.sleep(10_007)


def train(rank, world, crew):
    import torch
    import torch.distributed as dist

    for step in range(7):
        if step == 5 and crew.sick:
            crew.await_word("there", [0, 2])  # their main threads, which are Ray's, never stand still
            crew.ready()
            fetch()
        if step == 5:
            crew.arrive()
        dist.all_reduce(torch.full((3,), float(step)))


def launch(main, truth, world):
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # else Ray ends its workers when others fill the memory
    import ray
    import ray.train
    import ray.train.torch

    def work(config):
        rank = ray.train.get_context().get_world_rank()
        main(rank, world, Crew(rank, world, truth))

    ray.init(num_cpus=world + 1, include_dashboard=False, object_store_memory=80_000_000)
    ray.train.torch.TorchTrainer(
        work,
        torch_config=ray.train.torch.TorchConfig(backend="gloo"),
        scaling_config=ray.train.ScalingConfig(num_workers=world),
    ).fit()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS, by=launch)
