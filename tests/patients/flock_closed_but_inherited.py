"""Rank 1 waits for a flock that rank 0 took and closed: a helper of rank 0 inherited the file and keeps it."""

import fcntl
import os
import subprocess
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {
    "class": "rank-stuck-in-user-code", "ranks": [0], "state": "stuck", "accept": ["file-lock-stale"], "accept_ranks": [1],
}  # fmt: skip
LAUNCHERS = ("shell",)


def build(place):
    with open(place / "index.bin", "w") as index:
        fcntl.flock(index, fcntl.LOCK_EX)
        os.set_inheritable(index.fileno(), True)
        subprocess.Popen(["sleep", "1009"], close_fds=False)


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    if rank == 0:
        build(crew.place)
    ring.add(1)
    if rank == 1:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        with open(crew.place / "index.bin") as index:
            fcntl.flock(index, fcntl.LOCK_EX)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
