"""Rank 1 asks a number in shared memory again and again, which its child should count up; the child was killed."""

import multiprocessing
import os
import signal
import threading
import time

from _common import start, wait_until
from _ring import Ring

TRUTH = {"class": "child-dead", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def count(number):
    for _ in range(7):
        number.value += 1
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def dead(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def watch(crew, child):
    wait_until(lambda: dead(child.pid))
    crew.await_others()
    crew.ready(pids=[child.pid])


def run(crew):
    number = multiprocessing.RawValue("q", 0)
    child = multiprocessing.get_context("fork").Process(target=count, args=(number,))
    child.start()
    threading.Thread(target=watch, args=(crew, child), daemon=True).start()
    while number.value < 1009:
        time.sleep(0.03)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        run(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
