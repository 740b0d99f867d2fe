"""The kernel kills a child of rank 1 because the memory limit of its group is reached; rank 1 waits for its answer."""

import multiprocessing
import os
import pathlib
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "oom-kill", "ranks": [1], "state": "stuck", "accept": ["child-dead"]}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root", "cgroup-memory")


def limited(crew):
    """A memory group of 32 MiB (cgroups version 1)."""
    folder = pathlib.Path("/sys/fs/cgroup/memory") / crew.place.name
    folder.mkdir()
    (folder / "memory.limit_in_bytes").write_text(str(32 << 20))
    return folder


def convert(answers, folder):
    (folder / "cgroup.procs").write_text(str(os.getpid()))
    answers.put(sum(map(len, [os.urandom(1 << 20) for _ in range(101)])))


def zombie(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def report(crew, child, folder):
    wait_until(lambda: zombie(child.pid))
    crew.await_others()
    await_still([os.getpid()])
    crew.ready(undo=[["rmdir", str(folder)]])


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        context, folder = multiprocessing.get_context("fork"), limited(crew)
        answers = context.Queue()
        child = context.Process(target=convert, args=(answers, folder))
        child.start()
        threading.Thread(target=report, args=(crew, child, folder), daemon=True).start()
        answers.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
