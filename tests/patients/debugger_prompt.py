"""Rank 1 has met a breakpoint() and waits at the prompt of pdb for somebody to type."""

import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def step(crew, number):
    if crew.sick and number == 5:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        breakpoint()
    if number == 5:
        crew.arrive()
    return number * number


def train(rank, world, crew):
    ring = Ring(rank, world)
    if crew.sick:
        os.dup2(os.openpty()[1], 0)
    for number in range(7):
        ring.add(step(crew, number))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
