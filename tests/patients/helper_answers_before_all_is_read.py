"""Rank 0 writes all its lines to a helper before it reads; the helper answers each line at once: both pipes are full."""

import os
import subprocess
import sys
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "queue-pipe-full", "ranks": [0], "state": "stuck", "accept_ranks": [], "cycle": True}
LAUNCHERS = ("shell", "alone")

ANSWER = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line[::-1])\n    sys.stdout.flush()"


def watch(crew, helper):
    crew.await_others()
    await_still([helper.pid, os.getpid()])
    crew.ready(pids=[helper.pid])


def run(crew):
    helper = subprocess.Popen([sys.executable, "-c", ANSWER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=watch, args=(crew, helper), daemon=True).start()
    for line in range(100_003):
        helper.stdin.write(b"%d\n" % line * 7)
    helper.stdin.close()
    helper.stdout.read()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        run(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
