"""Healthy: one child computes under a lock of multiprocessing for long, and its siblings wait for their turn."""

import multiprocessing
import threading

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "slow"}
LAUNCHERS = ("alone",)


def compute(gate, taken, steps):
    with gate:
        taken.set()
        total = 0
        for step in range(steps):
            for part in range(10007):
                total += part * step % 7


def report(crew, others):
    await_still([one.pid for one in others])
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    gate, taken = context.Lock(), context.Event()
    parts = [context.Process(target=compute, args=(gate, taken, 10**7)) for _ in range(3)]
    parts[0].start()
    taken.wait()
    for part in parts[1:]:
        part.start()
    threading.Thread(target=report, args=(crew, parts[1:]), daemon=True).start()
    for part in parts:
        part.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
