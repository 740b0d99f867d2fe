"""Rank 1 waits for a helper program to end, which reads its input until rank 1 closes it."""

import os
import subprocess
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["queue-pipe-full", "p2p-order-deadlock"],
         "accept_ranks": []}  # fmt: skip
LAUNCHERS = ("shell", "alone")


def report(crew, helper):
    crew.await_others()
    await_still([os.getpid(), helper.pid])
    crew.ready()


def sort(crew):
    helper = subprocess.Popen(["sort"], stdin=subprocess.PIPE)
    threading.Thread(target=report, args=(crew, helper), daemon=True).start()
    helper.stdin.write(b"7\n3\n")
    helper.stdin.flush()
    return helper.wait()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        sort(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
