"""A child of rank 1 was SIGKILLed while it took from a queue, and kept the queue's lock; rank 1 takes from it, too."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def convert(orders):
    orders.get()


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
        orders = context.Queue()
        child = context.Process(target=convert, args=(orders,))
        child.start()
        await_still([child.pid])
        os.kill(child.pid, signal.SIGKILL)
        wait_until(lambda: zombie(child.pid))
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        orders.put(7)
        orders.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
