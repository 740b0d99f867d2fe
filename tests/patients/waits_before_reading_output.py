"""Rank 1 waits for the end of a command before it reads the command's output, which has filled the pipe."""

import os
import subprocess
import sys
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "queue-pipe-full", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def report(crew, command):
    crew.await_others()
    await_still([command.pid, os.getpid()])
    crew.ready()


def convert(crew):
    talks = "for number in range(100_003): print('part', number)"
    command = subprocess.Popen([sys.executable, "-c", talks], stdout=subprocess.PIPE)
    threading.Thread(target=report, args=(crew, command), daemon=True).start()
    command.wait()
    return command.stdout.read()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        convert(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
