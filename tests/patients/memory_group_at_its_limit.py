"""Rank 0 needs more memory than its group has; the group is told not to kill, so rank 0 waits in the kernel for ever."""

import os
import pathlib

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "resource-limit", "ranks": [0], "state": "stuck", "accept": ["oom-kill"]}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root", "cgroup-memory")


def limit(pid, crew):
    """Put a process into a memory group of 64 MiB that does not kill (cgroups version 1, memory.oom_control)."""
    folder = pathlib.Path("/sys/fs/cgroup/memory") / crew.place.name
    folder.mkdir()
    (folder / "memory.limit_in_bytes").write_text(str(64 << 20))
    (folder / "memory.oom_control").write_text("1")
    (folder / "cgroup.procs").write_text(str(pid))
    return folder


def watch(crew, pid):
    """From outside of the group, since nobody in it can go on."""
    if os.fork() == 0:
        if os.fork() == 0:
            crew.await_others()
            folder = limit(pid, crew)
            crew.arrive("limited")
            wait_until(lambda: "under_oom 1" in (folder / "memory.oom_control").read_text())
            await_still([pid], states="DS")
            free = f"cd {folder}; echo -1 > memory.limit_in_bytes; sleep 0.1; echo {pid} > ../cgroup.procs; cd ..; rmdir {folder}"
            crew.ready(undo=[["sh", "-c", free]])
        os._exit(0)
    os.wait()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        watch(crew, os.getpid())
        crew.await_word("limited", [rank])
        parts = [bytes([number]) * (1 << 20) for number in range(211)]
        ring.add(len(parts))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
