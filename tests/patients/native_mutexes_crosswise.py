"""Two threads take two pthread mutexes of a C library in opposite order; Python sees only the calls into C."""

import ctypes
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

libc = ctypes.CDLL(None)
first, second = (ctypes.create_string_buffer(64) for _ in range(2))
meet = threading.Barrier(2)


def copy(source, target):
    libc.pthread_mutex_lock(source)
    meet.wait()
    libc.pthread_mutex_lock(target)


def watch(crew, threads):
    crew.await_others()
    await_still([thread.native_id for thread in threads])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        orders = ((first, second), (second, first))
        threads = [threading.Thread(target=copy, args=order, daemon=True) for order in orders]
        for thread in threads:
            thread.start()
        threading.Thread(target=watch, args=(crew, threads), daemon=True).start()
        threads[1].join()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
