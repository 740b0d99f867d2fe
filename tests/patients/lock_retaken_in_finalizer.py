"""The garbage collector runs a finalizer inside a locked section, and the finalizer takes the same lock again."""

import gc
import threading

from _common import start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone", "spawned")


class Pool:
    """Buffers that give themselves back when nobody holds them."""

    def __init__(self):
        self.gate = threading.Lock()
        self.free = []

    def put(self, buffer):
        with self.gate:
            self.free.append(buffer)

    def take(self, crew):
        with self.gate:
            crew.await_others()
            crew.ready()
            return [Buffer(self) for _ in range(5)], gc.collect()


class Buffer:
    def __init__(self, pool):
        self.pool, self.me = pool, self

    def __del__(self):
        self.pool.put(1)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        pool = Pool()
        gc.disable()
        Buffer(pool)
        pool.take(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
