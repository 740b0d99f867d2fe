"""Rank 1 cannot hand its batch over: /dev/shm (one MiB here, as in a small container) is full, and it tries again for ever."""

import ctypes
import os
import subprocess
import sys
import time

from _common import start
from _ring import Ring

TRUTH = {"class": "shm-exhausted", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("root",)

NEWNS = 0x20000  # CLONE_NEWNS of unshare(2): mounts of our own, which end with us


def confine():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEWNS):
        sys.exit("patient: no mount namespace")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "shm", "/dev/shm"], check=True)


def pack(crew):
    crew.await_others()
    size = 0
    for attempt in range(1_000_000):
        with open("/dev/shm/batch-23", "ab") as out:
            try:
                while True:
                    os.posix_fallocate(out.fileno(), size, 65_536)
                    size += 65_536
            except OSError:
                if attempt == 1:
                    crew.ready()
                time.sleep(0.3)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        confine()
        pack(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
