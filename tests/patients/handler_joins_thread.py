"""A signal handler of rank 2 joins a thread that waits for a lock which the interrupted code holds."""

import os
import signal
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

gate = threading.Lock()


def write():
    with gate:
        pass


def stop(number, frame):
    writer.join()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


writer = threading.Thread(target=write, daemon=True)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        signal.signal(signal.SIGUSR1, stop)
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        with gate:
            writer.start()
            os.kill(os.getpid(), signal.SIGUSR1)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
