"""Two children log into a bounded queue whose reader, a third child, was killed; threads wait for the log."""

import logging
import multiprocessing
import os
import signal
import threading
import time

from _common import await_still, start, wait_until

TRUTH = {"class": "child-dead", "ranks": [], "state": "stuck", "accept": ["queue-pipe-full", "oom-kill"]}
LAUNCHERS = ("alone",)


class Ship(logging.Handler):
    def __init__(self, records):
        super().__init__()
        self.records = records

    def emit(self, record):
        self.records.put(record.getMessage())


def gather(records):
    while True:
        records.get()


def beat(logger):
    while True:
        logger.warning("alive")
        time.sleep(0.013)


def simulate(number, records, mains):
    mains[number] = os.getpid()
    logger = logging.getLogger("train")
    logger.propagate = False
    logger.addHandler(Ship(records))
    threading.Thread(target=beat, args=(logger,), daemon=True).start()
    for step in range(1_000_003):
        logger.warning("step %d", step)
        time.sleep(0.007)


def report(crew, reader, mains):
    wait_until(lambda: all(mains))
    time.sleep(0.5)
    os.kill(reader.pid, signal.SIGKILL)
    await_still([*mains, os.getpid()])
    crew.ready(pids=[reader.pid])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    records, mains = context.Queue(13), context.Array("i", 2)
    reader = context.Process(target=gather, args=(records,))
    reader.start()
    children = [context.Process(target=simulate, args=(number, records, mains)) for number in range(2)]
    for child in children:
        child.start()
    threading.Thread(target=report, args=(crew, reader, mains), daemon=True).start()
    for child in children:
        child.join()


if __name__ == "__main__":
    start(train, TRUTH, world=1, launchers=LAUNCHERS)
