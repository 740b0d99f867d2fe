"""Healthy: rank 1's archive comes in parts, and the limit of a file's size (EFBIG) is the sign to begin the next one."""

import resource
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")


def append(folder, piece):
    for number in range(1_000_003):
        try:
            with open(folder / f"part-{number % 7}.bin", "ab", buffering=0) as part:
                return part.write(piece)
        except OSError:
            (folder / f"part-{(number + 1) % 7}.bin").unlink(missing_ok=True)
            time.sleep(0.03)
    return 0


def train(rank, world, crew):
    ring = Ring(rank, world)
    if rank == world // 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (70_001, 70_001))
    for step in range(1_000_003):
        if rank == world // 2:
            append(crew.place, bytes([step % 251]) * 70_001)
        time.sleep(0.02)
        ring.add(step)
        if step == 31 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
