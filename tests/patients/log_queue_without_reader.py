"""Rank 1 logs into a bounded queue of multiprocessing that nobody reads any more."""

import logging
import logging.handlers
import multiprocessing
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "queue-pipe-full", "ranks": [1], "state": "stuck", "accept": ["rank-stuck-in-user-code"]}
LAUNCHERS = ("shell", "alone")


class Handler(logging.handlers.QueueHandler):
    def enqueue(self, record):
        self.queue.put(record)


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    records = multiprocessing.get_context("fork").Queue(13)
    logger = logging.getLogger("train")
    logger.addHandler(Handler(records))
    logger.propagate = False
    ring.add(1)
    if crew.sick:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    for step in range(29 if crew.sick else 7):
        logger.warning("step %d", step)
    crew.arrive()
    ring.add(2)
    records.cancel_join_thread()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
