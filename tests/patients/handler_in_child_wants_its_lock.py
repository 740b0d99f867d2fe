"""Two children write a journal under a lock when SIGTERM comes; its handler writes what is left, under the same lock."""

import multiprocessing
import os
import signal
import threading
import time

from _common import await_still, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


class Journal:
    def __init__(self):
        self.guard, self.rows = threading.Lock(), []

    def add(self, row, crew):
        with self.guard:
            self.rows.append(row)
            crew.arrive()
            time.sleep(1009)

    def flush(self):
        with self.guard:
            self.rows.clear()


def consume(crew, number):
    crew.rank, journal = number, Journal()
    signal.signal(signal.SIGTERM, lambda signum, frame: journal.flush())
    journal.add(7, crew)


def report(crew, children):
    await_still([os.getpid(), *(child.pid for child in children)])
    crew.ready(pids=[child.pid for child in children])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=consume, args=(crew, number)) for number in range(2)]
    for child in children:
        child.start()
    crew.await_word("there", range(2))
    for child in children:
        child.terminate()
    threading.Thread(target=report, args=(crew, children), daemon=True).start()
    for child in children:
        child.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
