"""Healthy: two managers of multiprocessing ask each other, and the last one asked takes its time; locks are let go before."""

import threading
import time
from multiprocessing.managers import BaseManager

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "slow"}
LAUNCHERS = ("alone",)


class Cache:
    def __init__(self):
        self.guard, self.beside, self.known = threading.Lock(), None, {}

    def join(self, beside):
        self.beside = beside

    def look_up(self, key, hops=2):
        with self.guard:
            known = self.known.get(key)
        if known is None and hops:
            known = self.beside.look_up(key, hops - 1)
        elif known is None:
            known = count(40)
        with self.guard:
            self.known[key] = known or 7
        return known or 7


def count(seconds):
    until, rows = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        rows += sum(range(300))
    return rows


class Shelf(BaseManager):
    pass


Shelf.register("Cache", Cache)


def train(rank, world, crew):
    shelves = [Shelf(), Shelf()]
    for shelf in shelves:
        shelf.start()
    first, second = (shelf.Cache() for shelf in shelves)
    first.join(second)
    second.join(first)
    threading.Timer(4, crew.ready).start()
    first.look_up("tokens")


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
