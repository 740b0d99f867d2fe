"""Healthy: rank 1 compiles with Inductor, one shape after another, while the others wait in an all_reduce."""

from _common import join_group, start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch", "g++")


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    dist.all_reduce(torch.ones(3))
    if rank == 1:
        crew.await_others()
        for size in range(3, 100_000):
            torch._dynamo.reset()
            step = torch.compile(lambda x, n=size: torch.sin(x) * n + torch.cos(x[n - 1]), dynamic=False)
            step(torch.ones(size))
            if size == 3:
                crew.ready()
    crew.arrive()
    dist.all_reduce(torch.ones(3))


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
