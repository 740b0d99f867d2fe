"""Rank 1 reads the output of a command to its end; the command has ended and left a program behind, which keeps the pipe open."""

import os
import subprocess
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone", "forked")


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def describe():
    return subprocess.run(["sh", "-c", "sleep 1009 & uname"], capture_output=True)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        describe()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
