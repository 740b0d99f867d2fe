"""The control group of rank 1 was frozen (as a scheduler's suspend does); the others wait for it."""

import os
import pathlib
import time

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "process-stopped", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root", "cgroup-freezer")


def freeze(pid, crew):
    """Put a process into a group of its own and freeze that (cgroups version 1, freezer), from outside."""
    if os.fork() == 0:
        if os.fork() == 0:
            folder = pathlib.Path("/sys/fs/cgroup/freezer") / crew.place.name
            folder.mkdir()
            (folder / "cgroup.procs").write_text(str(pid))
            (folder / "freezer.state").write_text("FROZEN")
            wait_until(lambda: (folder / "freezer.state").read_text() == "FROZEN\n")
            await_still([pid], states="DST")
            thaw = f"echo THAWED > {folder}/freezer.state; echo {pid} > {folder.parent}/cgroup.procs; rmdir {folder}"
            crew.ready(undo=[["sh", "-c", thaw]])
        os._exit(0)
    os.wait()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        crew.await_others()
        freeze(os.getpid(), crew)
    crew.arrive()
    for step in range(1_000_000):
        ring.add(step)
        time.sleep(0.01)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
