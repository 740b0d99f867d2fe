"""A rank joins a child process, in which two threads hold each other's locks: the child's reason is the verdict."""

import multiprocessing
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone", "spawned")


def move(source, target, meet):
    with source:
        meet.wait()
        with target:
            pass


def convert(crew):
    left, right, meet = threading.Lock(), threading.Lock(), threading.Barrier(2)
    orders = ((left, right, meet), (right, left, meet))
    threads = [threading.Thread(target=move, args=order) for order in orders]
    for thread in threads:
        thread.start()
    crew.await_others()
    await_still([thread.native_id for thread in threads])
    crew.ready(pids=[threading.main_thread().native_id])
    for thread in threads:
        thread.join()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        child = multiprocessing.get_context("spawn").Process(target=convert, args=(crew,))
        child.start()
        child.join()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
