"""Two threads of one rank take two locks in opposite order; its main thread joins one of them."""

import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone", "forked", "spawned", "served", "mpirun")


class Cache:
    """Items and their index, each behind a lock of its own."""

    def __init__(self):
        self.items, self.index = threading.Lock(), threading.Lock()
        self.meet = threading.Barrier(2)

    def fill(self):
        with self.items:
            self.meet.wait()
            with self.index:
                pass

    def find(self):
        with self.index:
            self.meet.wait()
            with self.items:
                pass


def watch(crew, threads):
    crew.await_others()
    await_still([thread.native_id for thread in threads])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        cache = Cache()
        threads = [threading.Thread(target=work, daemon=True) for work in (cache.fill, cache.find)]
        for thread in threads:
            thread.start()
        threading.Thread(target=watch, args=(crew, threads), daemon=True).start()
        threads[0].join()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
