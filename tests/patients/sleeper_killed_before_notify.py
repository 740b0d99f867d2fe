"""Four children wait for an event; one is killed in its sleep, and the parent that sets the event waits until it wakes."""

import multiprocessing
import os
import signal
import threading

from _common import await_still, start

TRUTH = {"class": "child-dead", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def serve(begin, crew, number):
    crew.rank = number
    crew.arrive()
    begin.wait()
    signal.pause()


def report(crew):
    await_still([os.getpid()])
    crew.ready(pids=[os.getpid()])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    begin = context.Event()
    children = [context.Process(target=serve, args=(begin, crew, number)) for number in range(4)]
    for child in children:
        child.start()
    await_still(crew.await_word("there", range(4)))
    os.kill(children[3].pid, signal.SIGKILL)
    children[3].join()
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    begin.set()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
