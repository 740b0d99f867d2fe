"""One of three children has nothing to do in a round, and waits for the next order; the others wait for it at a barrier."""

import multiprocessing
import os
import threading

from _common import await_still, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def count(number, orders, gate):
    while True:
        step = orders.recv()
        if number == 2 and step == 3:
            continue
        gate.wait()
        orders.send(number * step)


def report(crew, parts):
    await_still([os.getpid(), *(part.pid for part in parts)])
    crew.ready(pids=[parts[2].pid])


def train(rank, world, crew):
    context = multiprocessing.get_context("spawn")
    gate, pipes = context.Barrier(3), [context.Pipe() for _ in range(3)]
    parts = [context.Process(target=count, args=(number, pipes[number][1], gate), daemon=True) for number in range(3)]
    for part in parts:
        part.start()
    for step in range(7):
        for mine, _ in pipes:
            mine.send(step)
        if step == 3:
            threading.Thread(target=report, args=(crew, parts), daemon=True).start()
        print([mine.recv() for mine, _ in pipes])


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
