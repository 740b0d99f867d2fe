"""A rank waits for the answer of a child that was SIGKILLed and that nobody reaped: a zombie."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def convert(answers):
    os.kill(os.getpid(), signal.SIGKILL)
    answers.put(7)


def zombie(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def watch(crew, child):
    wait_until(lambda: zombie(child.pid))
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        context = multiprocessing.get_context("fork")
        answers = context.Queue()
        child = context.Process(target=convert, args=(answers,))
        child.start()
        threading.Thread(target=watch, args=(crew, child), daemon=True).start()
        answers.get()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
