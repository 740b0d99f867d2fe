"""A thread writes to a file object, and so holds its buffer, at the moment of a plain fork; the child writes to it as well."""

import os
import threading
import time

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "fork-with-threads", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def pour(out):
    while True:
        out.write(b"\0" * 40_009)


def drain(reader):
    while os.read(reader, 1009):
        time.sleep(0.02)


def watch(crew, child):
    crew.await_others()
    await_still([child])
    crew.ready(pids=[child])


def run(crew):
    reader, writer = os.pipe()
    out = os.fdopen(writer, "wb", buffering=8191)
    threading.Thread(target=drain, args=(reader,), daemon=True).start()
    threading.Thread(target=pour, args=(out,), daemon=True).start()
    time.sleep(0.5)
    child = os.fork()
    if child == 0:
        out.write(b"begun")
        os._exit(0)
    threading.Thread(target=watch, args=(crew, child), daemon=True).start()
    os.waitpid(child, 0)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        run(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
