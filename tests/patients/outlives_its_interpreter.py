"""The interpreter of rank 0 has ended; a function that a library left for the end of the process waits for a semaphore."""

import ctypes
import json
import os

from _common import outside, start
from _ring import Ring

TRUTH = {"class": "exit-hang", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

# No thread of its own is left to tell.
REPORT = """
import json, sys, time
from _common import Crew, await_still, wait_until
rank, world, truth, pid = json.loads(sys.argv[1])
wait_until(lambda: "futex" in open(f"/proc/{pid}/wchan").read())
await_still([pid])
time.sleep(0.5)
Crew(rank, world, truth).ready(truth.get("pids", ()))
"""


def leave_for_the_end():
    """A semaphore outside of Python's memory, and a wait for it at exit(3)."""
    libc = ctypes.CDLL(None)
    libc.calloc.restype = ctypes.c_void_p
    flushed = ctypes.c_void_p(libc.calloc(1, 64))
    libc.__cxa_atexit(ctypes.cast(libc.sem_wait, ctypes.c_void_p), flushed, None)


def train(rank, world, crew):
    ring = Ring(rank, world)
    for number in range(7):
        ring.add(number)
    if crew.sick:
        leave_for_the_end()
        outside(REPORT, json.dumps([rank, world, crew.truth, os.getpid()]))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
