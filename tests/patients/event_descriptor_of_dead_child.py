"""Rank 1 waits at an eventfd for a child that prepares a page of shared memory; the child has used up its limit of CPU time."""

import mmap
import os
import resource
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ()


class Augmenter:
    """Another process that fills the page each time it is asked."""

    def __init__(self):
        self.page = mmap.mmap(-1, 1 << 16)
        self.asked, self.filled = os.eventfd(0), os.eventfd(0)
        self.pid = os.fork()
        if self.pid == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (1, 2))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            self.serve()

    def serve(self):
        while True:
            rounds = os.eventfd_read(self.asked)
            for index in range(rounds * 100_000):
                self.page[index % 65_536] = (index * rounds) % 251
            os.eventfd_write(self.filled, 1)

    def batch(self, rounds):
        os.eventfd_write(self.asked, rounds)
        os.eventfd_read(self.filled)
        return sum(self.page[:100])


def report(crew, pid):
    crew.await_others()
    with open(f"/proc/{pid}/stat") as stat:
        wait_until(lambda: stat.seek(0) == 0 and stat.read().rsplit(")")[1].split()[0] == "Z")
    await_still([os.getpid()])
    crew.ready(pids=[pid])


def train(rank, world, crew):
    ring = Ring(rank, world)
    if crew.sick:
        augmenter = Augmenter()
        threading.Thread(target=report, args=(crew, augmenter.pid), daemon=True).start()
    for step in range(13):
        if step == 11:
            crew.arrive()
        ring.add(augmenter.batch(1 if step < 11 else 503) if crew.sick else step)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
