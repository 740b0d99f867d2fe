"""A log handler's lock is held by a thread at the moment of a fork; the child waits for it for ever, its parent joins it."""

import logging
import multiprocessing
import os
import threading
import time

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "fork-with-threads", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

log = logging.getLogger("job")


class Sender(logging.Handler):
    """Writes to a pipe, one record at a time."""

    def __init__(self, out):
        super().__init__()
        self.out = out

    def createLock(self):
        self.lock = threading.Lock()

    def emit(self, record):
        os.write(self.out, self.format(record).encode() * 1009)


def chatter():
    while True:
        log.warning("still here " * 7)
        time.sleep(0.1)


def convert():
    log.warning("converting")


def watch(crew, child):
    crew.await_others()
    await_still([child.pid])
    crew.ready(pids=[child.pid])


def run(crew):
    reader, writer = os.pipe()
    sender = Sender(writer)
    log.addHandler(sender)
    threading.Thread(target=chatter, daemon=True).start()
    wait_until(sender.lock.locked)
    child = multiprocessing.get_context("fork").Process(target=convert)
    child.start()
    threading.Thread(target=drain, args=(reader,), daemon=True).start()
    threading.Thread(target=watch, args=(crew, child), daemon=True).start()
    child.join()


def drain(reader):
    while os.read(reader, 4096):
        pass


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        run(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
