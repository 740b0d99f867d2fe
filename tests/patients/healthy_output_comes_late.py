"""Healthy: at each step rank 1 reads the output of a command, which ends at once and leaves a program behind that writes on."""

import subprocess

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


def train(rank, world, crew):
    ring = Ring(rank, world)
    for step in range(1_000_003):
        if rank == world - 1:
            subprocess.run(["sh", "-c", "(sleep 0.31; date) & uname"], capture_output=True)
        ring.add(step)
        if step == 3 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
