"""A log handler waits, inside emit, for its sending thread, and that thread logs to the same handler."""

import concurrent.futures
import logging
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

log = logging.getLogger("trainer")


class Uploading(logging.Handler):
    """Keeps records until there are eleven, then sends them."""

    def __init__(self):
        super().__init__()
        self.kept, self.pool = [], concurrent.futures.ThreadPoolExecutor(1)

    def emit(self, record):
        self.kept.append(self.format(record))
        if len(self.kept) == 11:
            self.pool.submit(self.send, self.kept).result()
            self.kept = []

    def send(self, lines):
        log.info("sending %d bytes", sum(map(len, lines)))


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    log.setLevel(logging.INFO)
    log.propagate = False
    if crew.sick:
        log.addHandler(Uploading())
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    for step in range(13):
        if step < 10:
            ring.add(step)
        log.info("step %d", step)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
