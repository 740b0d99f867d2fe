"""Ranks wait for a lock of an open file description, which names no process; a program beside the job has it and sleeps."""

import fcntl
import os
import struct
import threading

from _common import await_still, outside, start, wait_until
from _ring import Ring

TRUTH = {
    "class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["file-lock-stale"], "accept_ranks": [],
}  # fmt: skip
LAUNCHERS = ("shell",)

lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
SET = 37  # F_OFD_SETLK (linux/fcntl.h)
SET_AND_WAIT = 38  # F_OFD_SETLKW
keeper = f"""
import fcntl, os, sys, time
file = open(sys.argv[1], "w")
fcntl.fcntl(file, {SET}, {lock!r})
os.rename(sys.argv[2], sys.argv[3])
time.sleep(100000)
"""


def keep(crew):
    draft, kept = crew.place / "draft", crew.place / "kept"
    draft.touch()
    outside(keeper, crew.place / "index", draft, kept)
    wait_until(kept.exists)


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        keep(crew)
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        with open(crew.place / "index", "r+") as file:
            fcntl.fcntl(file, SET_AND_WAIT, lock)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
