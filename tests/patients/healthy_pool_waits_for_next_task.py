"""Healthy: a pool of two processes has no task, and one of them the lock for reading; a child brings results slowly."""

import concurrent.futures
import multiprocessing
import threading
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("alone",)


def size(text):
    return len(text)


def locate(results):
    while True:
        results.put(7)
        time.sleep(0.7)


def report(crew, pool):
    await_still(list(pool._processes))
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(size, ["a", "bb", "ccc"] * 7))
        threading.Thread(target=report, args=(crew, pool), daemon=True).start()
        context.Process(target=locate, args=(results,), daemon=True).start()
        while True:
            results.get()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
