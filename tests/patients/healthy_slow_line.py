"""Healthy: all ranks stand in one all_reduce of many bytes, whose line is slow: it takes far longer than counts as stuck."""

import contextlib
import os
import socket
import threading
import time

from _common import await_still, join_group, start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)

PACING = 47  # SO_MAX_PACING_RATE (socket(7)), in bytes a second


def slow_down():
    """Let every connection of this process send slowly."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as line:
            if line.family in (socket.AF_INET, socket.AF_INET6) and line.type == socket.SOCK_STREAM:
                line.setsockopt(socket.SOL_SOCKET, PACING, 1_000_003)
                line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)


def report(crew):
    await_still(crew.await_word("there", range(crew.world)))
    time.sleep(3)
    crew.ready()


def train(rank, world, crew):
    os.environ["TORCH_FR_BUFFER_SIZE"] = "0"
    dist = join_group(rank, world)
    import torch

    total = torch.ones(20_000_003)
    dist.all_reduce(total[:7])
    slow_down()
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    while True:
        dist.all_reduce(total)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
