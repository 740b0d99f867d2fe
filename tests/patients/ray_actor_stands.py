"""Actors of Ray that make their own group, without Ray Train: their number is nowhere but in a local of their method."""

import os
import time

from _common import Crew, _meeting_point, join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("ray",)
NEEDS = ("torch", "ray")


def fetch():
    time.sleep(10_007)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(7):
        if step == 5 and crew.sick:
            crew.await_word("there", [0, 2])
            crew.ready()
            fetch()
        if step == 5:
            crew.arrive()
        dist.all_reduce(torch.full((3,), float(step)))


def launch(main, truth, world):
    os.environ["RAY_memory_monitor_refresh_ms"] = "0"  # else Ray ends its workers when others fill the memory
    _meeting_point()
    import ray

    class Learner:
        def fit(self, rank):
            main(rank, world, Crew(rank, world, truth))

    ray.init(num_cpus=world + 1, include_dashboard=False, object_store_memory=80_000_000)
    actors = [ray.remote(num_cpus=1)(Learner).remote() for _ in range(world)]
    ray.get([actor.fit.remote(rank) for rank, actor in enumerate(actors)])


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS, by=launch)
