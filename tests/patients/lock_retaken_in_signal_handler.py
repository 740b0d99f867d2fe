"""A signal arrives inside a locked section, and its handler takes the same lock again."""

import os
import signal
import threading

from _common import start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

gate = threading.Lock()
counts = {"steps": 0}


def on_usr1(number, frame):
    with gate:
        counts["asked"] = 1


def step(crew):
    with gate:
        counts["steps"] += 1
        if crew.sick and counts["steps"] == 5:
            crew.await_others()
            crew.ready()
            os.kill(os.getpid(), signal.SIGUSR1)


def train(rank, world, crew):
    ring = Ring(rank, world)
    signal.signal(signal.SIGUSR1, on_usr1)
    for number in range(7):
        if number == 4 and not crew.sick:
            crew.arrive()
        step(crew)
        ring.add(number)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
