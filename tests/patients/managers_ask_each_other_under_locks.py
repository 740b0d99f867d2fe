"""Two managers of multiprocessing look into each other's cache under the lock of their own; the second question comes back."""

import os
import threading
from multiprocessing.managers import BaseManager

from _common import await_still, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("alone",)


class Cache:
    def __init__(self):
        self.guard, self.beside, self.known = threading.Lock(), None, {}

    def pid(self):
        return os.getpid()

    def join(self, beside):
        self.beside = beside

    def look_up(self, key):
        with self.guard:
            if key not in self.known:
                self.known[key] = self.beside.look_up(key)
            return self.known[key]


class Shelf(BaseManager):
    pass


Shelf.register("Cache", Cache)


def report(crew, pids):
    await_still([os.getpid()])
    crew.truth["pids"] = pids
    crew.ready()


def train(rank, world, crew):
    shelves = [Shelf(), Shelf()]
    for shelf in shelves:
        shelf.start()
    first, second = (shelf.Cache() for shelf in shelves)
    first.join(second)
    second.join(first)
    threading.Thread(target=report, args=(crew, [first.pid(), second.pid()]), daemon=True).start()
    first.look_up("tokens")


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
