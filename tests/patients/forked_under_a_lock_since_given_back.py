"""A child was forked while a thread of its parent was inside SQLite, on a connection of both; that thread has ended since."""

import multiprocessing
import os
import sqlite3
import threading

from _common import await_still, start

TRUTH = {"class": "fork-with-threads", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def report(crew, child):
    await_still([os.getpid(), child.pid])
    crew.ready(pids=[child.pid])


def train(rank, world, crew):
    inside, forked = threading.Event(), threading.Event()

    def score(size):
        inside.set()
        forked.wait()
        return size + 1

    index = sqlite3.connect(":memory:", check_same_thread=False)
    index.create_function("score", 1, score)
    thread = threading.Thread(target=index.execute, args=("select score(7)",))
    thread.start()
    inside.wait()
    child = multiprocessing.get_context("fork").Process(target=index.execute, args=("select 7",))
    child.start()
    forked.set()
    thread.join()
    threading.Thread(target=report, args=(crew, child), daemon=True).start()
    child.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
