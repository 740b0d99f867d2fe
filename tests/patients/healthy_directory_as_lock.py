"""Healthy: rank 1 has made the directory that the ranks use as a lock, and writes; the others ask for it again and again."""

import os
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)


def alone(folder):
    while True:
        try:
            return os.mkdir(folder)
        except FileExistsError:
            time.sleep(0.07)


def write(place, part):
    with open(place / f"part{part % 7}.bin", "wb") as out:
        out.write(b"\0" * 700_001)
    time.sleep(0.05)


def train(rank, world, crew):
    ring = Ring(rank, world)
    if rank == 1:
        alone(crew.place / "index.lock")
    ring.add(1)
    crew.arrive()
    if rank == 0:
        crew.await_word("there", range(world))
        time.sleep(3)
        crew.ready()
    if rank != 1:
        alone(crew.place / "index.lock")
    for part in range(1_000_003):
        write(crew.place, part)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
