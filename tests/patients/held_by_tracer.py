"""Another program has attached to rank 2 with ptrace and keeps it stopped (state t)."""

import os
import time

from _common import outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "process-stopped", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

DEBUGGER = """
import ctypes, os, pathlib, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
pid = int(sys.argv[1])
if libc.ptrace(16, pid, None, None):  # PTRACE_ATTACH
    sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(pid, 0x40000000)  # __WALL
pathlib.Path(sys.argv[2]).touch()
time.sleep(100_000)
"""


def report(crew, mark):
    """Only another process can say that this one is stopped; it is gone a moment later."""
    if os.fork() == 0:
        if os.fork() == 0:
            wait_until(mark.exists)
            crew.ready()
        os._exit(0)
    os.wait()


def train(rank, world, crew):
    ring = Ring(rank, world)
    if crew.sick:
        crew.await_others()
        report(crew, crew.place / "attached")
        outside(DEBUGGER, os.getpid(), crew.place / "attached")
        time.sleep(1)
    crew.arrive()
    for step in range(1_000_000):
        ring.add(step)
        time.sleep(0.01)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
