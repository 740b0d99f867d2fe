"""A thread of one rank sleeps in C without giving up the GIL; its main thread, and every other, waits for the GIL."""

import ctypes
import threading

from _common import start
from _ring import Ring

TRUTH = {"class": "gil-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone", "spawned")


def flush(crew):
    library = ctypes.PyDLL(None)
    crew.await_others()
    crew.ready()
    library.sleep(100_000)


def count():
    total = 0
    while True:
        total = (total * 31 + 7) % 1009


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        threading.Thread(target=flush, args=(crew,), daemon=True).start()
        count()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
