"""Three children meet at a barrier, before which one of them sleeps in the job's code. A fourth waits for lines to write."""

import multiprocessing
import os
import threading
import time

from _common import await_still, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def simulate(number, meet):
    if number == 2:
        time.sleep(7919)
    meet.wait()


def write(lines):
    while lines.get():
        pass


def report(crew, parts):
    await_still([os.getpid(), *(part.pid for part in parts)])
    crew.ready(pids=[parts[2].pid])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    meet, lines = context.Barrier(3), context.Queue()
    parts = [context.Process(target=simulate, args=(number, meet)) for number in range(3)]
    writer = context.Process(target=write, args=(lines,), daemon=True)
    for part in (*parts, writer):
        part.start()
    threading.Thread(target=report, args=(crew, parts), daemon=True).start()
    for part in parts:
        part.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
