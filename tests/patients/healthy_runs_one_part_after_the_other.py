"""Healthy: a program without ranks starts a program for each of its parts, waits for its end, and pauses in between."""

import subprocess
import sys
import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("alone",)


def simulate(part):
    subprocess.run([sys.executable, "-S", "-c", f"print({part} * 31 % 7)"], check=True)
    time.sleep(0.05)


def train(rank, world, crew):
    for part in range(1_000_003):
        simulate(part)
        if part == 7:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
