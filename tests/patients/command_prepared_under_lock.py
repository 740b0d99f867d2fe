"""Rank 2 starts commands with a preexec function that takes the lock under which a thread publishes: one was forked meanwhile."""

import os
import pathlib
import subprocess
import threading
import time

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "fork-with-threads", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ()


class Board:
    """Figures that a thread publishes and that all may change."""

    def __init__(self, path):
        self.path, self.guard, self.figures = path, threading.Lock(), {"converted": 0}

    def publish(self):
        while True:
            with self.guard, open(self.path, "w") as out:
                for name, value in self.figures.items():
                    out.write(f"{name} {value}\n")
                    time.sleep(0.03)
                os.fsync(out)
            time.sleep(0.02)

    def enter_child(self):
        """In the new process: run politely, and forget the parent's figures."""
        os.nice(1)
        with self.guard:
            self.figures.clear()


def convert(board, count):
    for _ in range(count):
        subprocess.run(["true"], preexec_fn=board.enter_child, check=True)
        board.figures["converted"] += 1


def forks():
    return [int(pid) for pid in pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def report(crew):
    crew.await_others()
    while True:
        before = forks()
        time.sleep(1)
        if before and before == forks():
            break
    await_still([os.getpid(), *before])
    crew.ready(pids=before)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    crew.arrive()
    if crew.sick:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        board = Board(crew.place / "board.txt")
        threading.Thread(target=board.publish, daemon=True).start()
        convert(board, 1_009)
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
