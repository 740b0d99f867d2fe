"""Healthy: at each step the last rank opens a FIFO for reading, which a child of its own opens for writing a moment later."""

import multiprocessing
import os
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


def write(fifo):
    for number in range(1_000_003):
        time.sleep(0.31)
        with open(fifo, "w") as out:
            out.write(f"{number}\n")
        time.sleep(0.05)


def train(rank, world, crew):
    fifo = crew.place / "samples"
    reads = rank == world - 1
    if reads:
        os.mkfifo(fifo)
        multiprocessing.get_context("fork").Process(target=write, args=(fifo,), daemon=True).start()
    ring = Ring(rank, world)
    for step in range(1_000_003):
        if reads:
            with open(fifo) as samples:
                samples.read()
        ring.add(step)
        if step == 3 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
