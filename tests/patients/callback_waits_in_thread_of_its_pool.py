"""What is called when a task of a pool is done gives it another one, and waits for that in the thread that hands out tasks."""

import concurrent.futures
import multiprocessing
import os
import threading

from _common import await_still, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [], "state": "stuck", "accept": ["lock-order-deadlock"]}
LAUNCHERS = ("alone",)


def report(crew):
    await_still([os.getpid()])
    crew.ready(pids=[os.getpid()])


def train(rank, world, crew):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:

        def parse(page):
            print(pool.submit(abs, page.result()).result())

        pages = [pool.submit(pow, 7, number) for number in range(5)]
        for page in pages:
            page.add_done_callback(parse)
        watcher = threading.Timer(2, report, args=(crew,))
        watcher.daemon = True
        watcher.start()
        concurrent.futures.wait(pages)


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
