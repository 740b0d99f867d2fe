"""Healthy: two children wait at a barrier for a third one, which computes for a while; their parent waits for their results."""

import multiprocessing
import os
import threading
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("alone",)


def simulate(number, results, gate):
    if number == 2:
        total = 0
        for step in range(1_000_000_003):
            total = (total * 31 + step) % 1_000_003
    gate.wait()
    results.put(number)


def report(crew, parts):
    await_still([os.getpid(), *(part.pid for part in parts[:2])])
    time.sleep(1.5)
    crew.ready()


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    gate, results = context.Barrier(3), context.Queue()
    parts = [context.Process(target=simulate, args=(number, results, gate)) for number in range(3)]
    for part in parts:
        part.start()
    threading.Thread(target=report, args=(crew, parts), daemon=True).start()
    for _ in parts:
        results.get()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
