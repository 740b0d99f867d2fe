"""Healthy: the control group of rank 1 may use a twentieth of a core, so that it stands still most of the time."""

import os
import pathlib

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)
NEEDS = ("root", "cgroup-cpu")


def throttle(crew):
    """A group of its own with 5 ms of every 100 ms (cgroups version 1, cpu)."""
    folder = pathlib.Path("/sys/fs/cgroup/cpu") / crew.place.name
    folder.mkdir()
    (folder / "cpu.cfs_quota_us").write_text("5000")
    (folder / "cgroup.procs").write_text(str(os.getpid()))
    return folder


def train(rank, world, crew):
    ring = Ring(rank, world)
    if rank == 1:
        throttle(crew)
    for step in range(1_000_003):
        for part in range(3 if rank == 1 else 1):
            sum(range(100_003 * part))
        ring.add(step)
        if step == 7 and rank == 0:
            folder = pathlib.Path("/sys/fs/cgroup/cpu") / crew.place.name
            crew.ready(undo=[["sh", "-c", f"cat {folder}/cgroup.procs > {folder.parent}/cgroup.procs; rmdir {folder}"]])


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
