"""Healthy: two children compute, and a third one stops them and lets them go on, again and again, so that they use less CPU."""

import hashlib
import multiprocessing
import os
import signal
import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def crunch():
    digest = b"seven"
    while True:
        digest = hashlib.sha256(digest).digest()


def pace(pids, crew):
    for number in range(1_000_003):
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.3)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        if number == 3:
            crew.ready(stuck_after=5)
        time.sleep(2.9)


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=crunch) for _ in range(2)]
    for worker in workers:
        worker.start()
    context.Process(target=pace, args=([worker.pid for worker in workers], crew), daemon=True).start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
