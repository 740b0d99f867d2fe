"""Healthy: the program of rank 1 is over, and its exit handler sends what is left, piece after piece."""

import atexit
import queue
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("shell", "alone")


class Run:
    """Records of a run, sent by a thread."""

    def __init__(self, crew):
        self.crew, self.sent, self.records = crew, 0, queue.Queue()
        threading.Thread(target=self.send, daemon=True).start()

    def send(self):
        while True:
            self.records.get()
            time.sleep(0.05)
            self.sent += 1
            if self.sent == 53:
                self.crew.ready()
            self.records.task_done()

    def finish(self):
        while self.records.unfinished_tasks:
            time.sleep(0.05)


def train(rank, world, crew):
    ring = Ring(rank, world)
    for number in range(7):
        ring.add(number)
    if world == 1 or rank == 1:
        run = Run(crew)
        atexit.register(run.finish)
        for number in range(100_003):
            run.records.put(number)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
