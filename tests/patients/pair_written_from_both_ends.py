"""A rank and its child each send a large object over the one connection between them before they receive."""

import multiprocessing
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "queue-pipe-full", "ranks": [1], "state": "stuck", "accept": ["p2p-order-deadlock"], "cycle": True}
LAUNCHERS = ("shell", "alone")


def swap(connection, block):
    connection.send(block)
    return connection.recv()


def watch(crew, child):
    crew.await_others()
    await_still([child.pid, os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        context = multiprocessing.get_context("spawn")
        near, far = context.Pipe()
        child = context.Process(target=swap, args=(far, b"\0" * 3_000_017))
        child.start()
        threading.Thread(target=watch, args=(crew, child), daemon=True).start()
        swap(near, b"\0" * 3_000_017)
        child.join()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
