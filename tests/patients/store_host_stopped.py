"""The agent that hosts the key-value store is stopped (SIGSTOP): ranks wait for its answers while they make a group."""

import os
import signal

from _common import await_still, join_group, start, wait_until

TRUTH = {"class": "process-stopped", "ranks": [], "state": "stuck", "accept": ["store-timeout"]}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch",)


def report(crew):
    """An onlooker stops the agent when all ranks are past their first steps, and speaks when they wait."""
    agent, ranks = os.getppid(), crew.await_word("there", range(crew.world))
    if os.fork() == 0:
        if os.fork() == 0:
            os.kill(agent, signal.SIGSTOP)
            await_still([agent], states="T")
            (crew.place / "go").touch()
            await_still(ranks)
            crew.ready(pids=[agent])
        os._exit(0)
    os.wait()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    dist.all_reduce(torch.ones(3))
    crew.arrive()
    if rank == 0:
        report(crew)
    wait_until((crew.place / "go").exists)
    group = dist.new_group()
    dist.all_reduce(torch.ones(3), group=group)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
