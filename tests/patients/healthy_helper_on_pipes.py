"""Healthy: rank 1 hands each step to a helper program over its standard input and reads the answer a moment later."""

import subprocess
import sys

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")
HELPER = "import sys, time\nfor line in sys.stdin:\n    time.sleep(0.3)\n    print(line, end='', flush=True)\n"


def train(rank, world, crew):
    ring = Ring(rank, world)
    helper = None
    if rank == world // 2:
        helper = subprocess.Popen(
            [sys.executable, "-c", HELPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    for step in range(1_000_003):
        if helper is not None:
            helper.stdin.write(f"{step}\n")
            helper.stdin.flush()
            helper.stdout.readline()
        ring.add(step)
        if step == 3 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
