"""Healthy: rank 1 waits for room in a queue whose reader takes an item three times a second; the others wait for rank 1."""

import queue
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


def write(parts):
    while parts.get():
        for _ in range(6):
            sum(range(10_007))
            time.sleep(0.05)


def train(rank, world, crew):
    ring = Ring(rank, world)
    parts = queue.Queue(3)
    if rank == world // 2:
        threading.Thread(target=write, args=(parts,), daemon=True).start()
    for step in range(1, 1_000_003):
        if rank == world // 2:
            parts.put(step)
        ring.add(step)
        if step == 7 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
