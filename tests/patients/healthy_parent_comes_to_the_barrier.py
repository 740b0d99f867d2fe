"""Healthy: three children wait at a barrier for four, to which their parent comes once it has read what they need."""

import multiprocessing
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("alone",)


def take(gate, ends, crew, number):
    crew.rank = number
    crew.arrive()
    gate.wait()
    ends.put(number)


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    gate, ends = context.Barrier(4), context.Queue()
    parts = [context.Process(target=take, args=(gate, ends, crew, number)) for number in range(3)]
    for part in parts:
        part.start()
    await_still(crew.await_word("there", range(3)))
    crew.ready(stuck_after=0.3)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        sum(range(3_007))
    gate.wait()
    print(sorted(ends.get() for _ in parts))


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
