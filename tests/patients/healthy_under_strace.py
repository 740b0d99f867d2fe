"""Healthy: somebody watches rank 1 with strace, and the job moves all the same."""

import os
import subprocess
import time

from _common import start, wait_until
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell",)
NEEDS = ("strace",)


def tracer():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("TracerPid:"))


def train(rank, world, crew):
    ring = Ring(rank, world)
    if rank == 1:
        command = ["setsid", "--fork", "strace", "-f", "-o", "/dev/null", "-p", str(os.getpid())]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        wait_until(tracer)
    for step in range(1_000_000):
        ring.add(step)
        time.sleep(0.05)
        if rank == 1 and step == 11:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
