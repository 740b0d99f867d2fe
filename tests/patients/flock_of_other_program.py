"""Rank 1 waits for a flock that another program, which is no member of the job, holds and never gives back."""

import fcntl

from _common import outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["file-lock-stale"]}
LAUNCHERS = ("shell", "alone")

HOLDER = """
import fcntl, pathlib, sys, time
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
pathlib.Path(sys.argv[1] + ".held").touch()
time.sleep(100_000)
"""


def prepare(crew):
    path = crew.place / "index.bin"
    outside(HOLDER, path)
    wait_until((crew.place / "index.bin.held").exists)
    with open(path, "a") as index:
        crew.await_others()
        crew.ready()
        fcntl.flock(index, fcntl.LOCK_EX)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        prepare(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
