"""Healthy: the only thread waits for an event, which the handler of a signal sets whenever there is something to do."""

import os
import signal
import threading
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def report(crew):
    await_still([os.getpid()])
    time.sleep(1.5)
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    orders = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: orders.set())
    threading.Thread(target=report, args=(crew,)).start()
    while orders.wait():
        orders.clear()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
