"""Two children each have one lock of multiprocessing and want that of the other one; a third wants both, for a sum."""

import multiprocessing
import os
import threading

from _common import await_still, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def transfer(first, second, meet):
    with first:
        meet.wait()
        with second:
            pass


def add_up(gates, meet):
    meet.wait()
    for gate in gates:
        gate.acquire()


def report(crew, parts):
    await_still([os.getpid(), *(part.pid for part in parts)])
    crew.truth["pids"] = [part.pid for part in parts[:2]]
    crew.ready()


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    gates, meet = [context.Lock() for _ in range(2)], context.Barrier(3)
    parts = [
        context.Process(target=transfer, args=(*gates, meet)),
        context.Process(target=transfer, args=(*gates[::-1], meet)),
        context.Process(target=add_up, args=(gates, meet)),
    ]
    for part in parts:
        part.start()
    threading.Thread(target=report, args=(crew, parts), daemon=True).start()
    for part in parts:
        part.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
