"""A timer's handler takes the lock that the code it interrupts has, and is interrupted by the next tick; a parent waits."""

import multiprocessing
import signal
import threading

from _common import start, wait_until

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


class Totals:
    def __init__(self, place):
        self.gate, self.sum, self.place = threading.Lock(), 0, place

    def add(self, number):
        with self.gate:
            self.sum += number
            signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
            while self.sum:
                self.sum += 2

    def tick(self, number, frame):
        (self.place / "ticked").touch()
        with self.gate:
            print(self.sum)


def collect(place, results):
    totals = Totals(place)
    signal.signal(signal.SIGALRM, totals.tick)
    for number in range(1, 101):
        totals.add(number)
    results.put(totals.sum)


def report(crew, child):
    wait_until((crew.place / "ticked").exists)
    crew.ready(pids=[child.pid])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=collect, args=(crew.place, results))
    child.start()
    threading.Thread(target=report, args=(crew, child), daemon=True).start()
    results.get()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
