"""A child of rank 2 was SIGKILLed while it held a lock of a manager; rank 2 asks the manager for this lock."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def convert(gate, taken):
    with gate:
        taken.set()
        signal.pause()


def zombie(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        context = multiprocessing.get_context("fork")
        manager = context.Manager()
        gate, taken = manager.Lock(), context.Event()
        child = context.Process(target=convert, args=(gate, taken))
        child.start()
        taken.wait()
        os.kill(child.pid, signal.SIGKILL)
        wait_until(lambda: zombie(child.pid))
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        gate.acquire()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
