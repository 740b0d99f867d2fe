"""Rank 1 polls a lock file (filelock's soft lock) that a killed process left behind."""

import os
import subprocess
import sys

from _common import start
from _ring import Ring

TRUTH = {"class": "file-lock-stale", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)

BUILDER = """
import os, signal, sys
from filelock import SoftFileLock
SoftFileLock(sys.argv[1]).acquire()
os.kill(os.getpid(), signal.SIGKILL)
"""


def prepare(crew):
    from filelock import SoftFileLock

    path = str(crew.place / "tokens.lock")
    subprocess.run([sys.executable, "-c", BUILDER, path])
    # Some versions notice on this host that the owner is gone; the lock of another host stays for ever.
    with open(path, "w") as left:
        left.write(f"{os.getpid() + 1}\nnode-of-yesterday\n")
    crew.await_others()
    crew.ready()
    with SoftFileLock(path):
        pass


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        prepare(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
