"""A client that held a manager's lock was killed, and its parent has collected it; the next client waits for the lock."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck", "accept": ["child-dead"]}
LAUNCHERS = ("shell", "alone")


def take(lock, ends):
    with lock:
        if ends:
            os.kill(os.getpid(), signal.SIGKILL)


def watch(crew, child):
    crew.await_others()
    await_still([child.pid, os.getpid()])
    crew.ready()


def run(crew):
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        lock = manager.Lock()
        for ends in (True, False):
            child = context.Process(target=take, args=(lock, ends))
            child.start()
            if not ends:
                threading.Thread(target=watch, args=(crew, child), daemon=True).start()
            child.join()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        run(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
