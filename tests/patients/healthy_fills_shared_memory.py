"""Healthy: the ranks have taken all of /dev/shm (a small one of their own) for their buffers, as they may, and work."""

import ctypes
import os
import subprocess
import sys
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root",)

NEWNS = 0x20000  # CLONE_NEWNS of unshare(2): mounts of our own, which end with us


def reserve():
    if ctypes.CDLL(None, use_errno=True).unshare(NEWNS):
        sys.exit("patient: no mount namespace")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "shm", "/dev/shm"], check=True)
    buffer = open("/dev/shm/buffer", "wb")
    os.posix_fallocate(buffer.fileno(), 0, 1 << 20)
    return buffer


def train(rank, world, crew):
    buffer = reserve()
    ring = Ring(rank, world)
    for step in range(1_000_000):
        time.sleep(0.05)
        ring.add(step + buffer.fileno())
        if rank == 0 and step == 7:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
