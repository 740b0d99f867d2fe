"""A rank reads from the pipe of a child that was stopped by SIGSTOP."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "process-stopped", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone", "spawned")


def convert(out):
    os.kill(os.getpid(), signal.SIGSTOP)
    out.send(7)


def watch(crew, child):
    crew.await_others()
    await_still([child.pid], states="T")
    crew.ready(pids=[child.pid])


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        context = multiprocessing.get_context("fork")
        answers, out = context.Pipe(duplex=False)
        child = context.Process(target=convert, args=(out,))
        child.start()
        out.close()
        threading.Thread(target=watch, args=(crew, child), daemon=True).start()
        answers.recv()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
