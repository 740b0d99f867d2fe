"""Healthy: a child works by signals that it blocks and takes by sigwait, one every now and then; its parent waits for its end."""

import multiprocessing
import os
import signal
import threading
import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def work():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGHUP])
    while signal.sigwait([signal.SIGTERM, signal.SIGHUP]) is signal.SIGHUP:
        sum(range(30_007))


def order(pid, crew):
    time.sleep(1)
    for number in range(1_000_003):
        os.kill(pid, signal.SIGHUP)
        if number == 7:
            crew.ready(stuck_after=1)
        time.sleep(0.3)


def train(rank, world, crew):
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    threading.Thread(target=order, args=(child.pid, crew), daemon=True).start()
    child.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
