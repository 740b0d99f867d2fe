"""Rank 1 reads a pipe to its end; the writer has ended, but another child inherited the writing end and keeps it open."""

import multiprocessing
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["child-dead"]}
LAUNCHERS = ("shell", "alone")


def convert(reader, writer):
    os.close(reader)
    os.write(writer, b"7" * 101)


def serve():
    threading.Event().wait()


def report(crew, helper):
    crew.await_others()
    await_still([os.getpid(), helper.pid])
    crew.ready(pids=[helper.pid])


def collect(crew):
    context = multiprocessing.get_context("fork")
    reader, writer = os.pipe()
    worker = context.Process(target=convert, args=(reader, writer))
    worker.start()
    helper = context.Process(target=serve, daemon=True)
    helper.start()
    os.close(writer)
    worker.join()
    threading.Thread(target=report, args=(crew, helper), daemon=True).start()
    with os.fdopen(reader, "rb") as results:
        return results.read()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        collect(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
