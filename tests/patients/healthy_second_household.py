"""Healthy, but looks like much that is not: semaphores, pipes, a forked child that writes, locks of files, a pool on disk.

The semaphores go round, a helper is on two pipes, the child writes where its parent's thread does, and the lock passes on.
"""

import fcntl
import os
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell", "alone")

ANSWER = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line * 997)\n    sys.stdout.flush()"
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
gates = [threading.Semaphore(1) for _ in range(3)]


def turn(first, second):
    while True:
        with gates[first], gates[second]:
            time.sleep(0.03)


def talk():
    helper = subprocess.Popen([sys.executable, "-c", ANSWER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=listen, args=(helper.stdout,), daemon=True).start()
    while True:
        helper.stdin.write(b"line\n" * 97)
        helper.stdin.flush()
        time.sleep(0.01)


def listen(out):
    while out.read(1009):
        time.sleep(0.005)


def write(out):
    while True:
        out.write(b"\0" * 997)
        time.sleep(0.03)


def pass_on(path):
    with open(path, "r+") as file:
        while True:
            fcntl.fcntl(file, 38, lock)  # F_OFD_SETLKW
            time.sleep(0.05)
            fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 0, 0, 0))
            time.sleep(0.01)


def save(place, number):
    with open(place / f"part{number % 7}", "wb") as out:
        out.write(b"\0" * 70_001)
        os.fsync(out.fileno())
    time.sleep(0.1)


def household(crew):
    place = crew.place
    (place / "index").touch()
    out = open(place / "log", "wb", buffering=0)
    if os.fork() == 0:
        write(out)
    works = [(turn, 0, 1), (turn, 1, 2), (turn, 0, 2), (talk,), (write, out), *[(pass_on, place / "index")] * 2]
    for work, *args in works:
        threading.Thread(target=work, args=args, daemon=True).start()
    with ThreadPoolExecutor(2) as pool:
        while True:
            list(pool.map(save, [place] * 7, range(7)))


def train(rank, world, crew):
    ring = Ring(rank, world)
    if crew.world == 1 or rank == 1:
        threading.Thread(target=household, args=(crew,), daemon=True).start()
        threading.Timer(3, crew.ready).start()
    for number in range(1_000_003):
        ring.add(number)
        time.sleep(0.1)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
