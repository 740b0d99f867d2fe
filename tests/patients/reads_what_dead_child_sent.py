"""Rank 2 takes items that its child puts into a queue; the child was SIGKILLed and reaped, and the queue is empty."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def read(parts):
    for number in range(1_000_003):
        parts.put(number)


def watch(crew, child):
    os.kill(child, signal.SIGKILL)
    wait_until(lambda: not multiprocessing.active_children())
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def load(crew):
    context = multiprocessing.get_context("fork")
    parts = context.Queue(11)
    child = context.Process(target=read, args=(parts,))
    child.start()
    parts.get()
    threading.Thread(target=watch, args=(crew, child.pid), daemon=True).start()
    while True:
        parts.get()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        load(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
