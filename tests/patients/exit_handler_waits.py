"""An exit handler of rank 0 waits for a service thread to take the last records, and the thread has already ended."""

import atexit
import queue
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "exit-hang", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


class Run:
    """Records of a run, sent by a thread."""

    def __init__(self):
        self.records = queue.Queue()
        self.thread = threading.Thread(target=self.send, daemon=True)
        self.thread.start()

    def send(self):
        while self.records.get() is not None:
            self.records.task_done()

    def finish(self):
        self.records.put(None)
        self.records.join()


def report(crew):
    await_still([threading.main_thread().native_id])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    for number in range(7):
        ring.add(number)
    if crew.sick:
        atexit.register(Run().finish)
        threading.Thread(target=report, args=(crew,), daemon=True).start()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
