"""Rank 2 stands in its own code in the middle of a transaction; rank 1 waits for the database, rank 0 for both."""

import sqlite3
import threading

from _common import start, wait_until
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell",)


def write(crew):
    with sqlite3.connect(crew.place / "runs.db", timeout=1009, isolation_level=None) as base:
        base.execute("BEGIN EXCLUSIVE")
        base.execute("CREATE TABLE IF NOT EXISTS runs (step INTEGER)")
        if crew.sick:
            crew.arrive("first")
            crew.await_word("there", [0, 1])
            wait_until(lambda: waits(crew.pid_of(1)))
            crew.ready()
            threading.Event().wait()


def waits(pid):
    with open(f"/proc/{pid}/wchan") as file:
        return "nanosleep" in file.read()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == 1:
        crew.await_word("first", [2])
        crew.arrive()
        write(crew)
    if crew.sick:
        write(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
