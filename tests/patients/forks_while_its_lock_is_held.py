"""A lock is taken before each fork; a thread has it, and waits for room in a queue that the forking thread empties afterwards."""

import multiprocessing
import os
import queue
import signal
import threading

from _common import await_still, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)

guard, pending = threading.Lock(), queue.Queue(3)


def publish(held):
    with guard:
        held.set()
        for number in range(7):
            pending.put(number)


def report(crew):
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    os.register_at_fork(before=guard.acquire, after_in_parent=guard.release, after_in_child=guard.release)
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=signal.pause, daemon=True) for _ in range(2)]
    workers[0].start()
    held = threading.Event()
    threading.Thread(target=publish, args=(held,), name="publisher", daemon=True).start()
    held.wait()
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    workers[1].start()
    while True:
        pending.get()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
