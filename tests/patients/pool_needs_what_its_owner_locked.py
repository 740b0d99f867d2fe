"""A parent is in the middle of a transaction, and waits for workers that write into the same database."""

import multiprocessing
import os
import sqlite3
import threading

from _common import start, wait_until

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def open_base(place):
    return sqlite3.connect(place / "runs.db", timeout=1009, isolation_level=None)


def note(place):
    with open_base(place) as base:
        base.execute("INSERT INTO runs VALUES (3)")
    return os.getpid()


def naps(pid):
    with open(f"/proc/{pid}/wchan") as file:
        return "nanosleep" in file.read()


def report(crew, pool):
    workers = [worker.pid for worker in pool._pool]
    wait_until(lambda: all(map(naps, workers)))
    crew.ready(pids=[os.getpid()])


def train(rank, world, crew):
    with open_base(crew.place) as base:
        base.execute("CREATE TABLE runs (step INTEGER)")
    with multiprocessing.get_context("fork").Pool(3) as pool:
        base.execute("BEGIN IMMEDIATE")
        threading.Thread(target=report, args=(crew, pool), daemon=True).start()
        pool.map(note, [crew.place] * 7, 1)


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
