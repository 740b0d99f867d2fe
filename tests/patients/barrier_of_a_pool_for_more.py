"""The workers of a pool meet at a barrier when they start, which is made for one more; their parent waits for their results."""

import concurrent.futures
import multiprocessing
import os
import threading

from _common import await_still, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def prepare(gate, crew):
    crew.rank = multiprocessing.current_process()._identity[-1] - 1
    crew.arrive()
    gate.wait()


def report(crew):
    workers = crew.await_word("there", range(3))
    await_still([os.getpid(), *workers])
    crew.ready(pids=workers)


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    with concurrent.futures.ProcessPoolExecutor(3, context, prepare, (context.Barrier(4), crew)) as pool:
        print(sum(pool.map(pow, range(17), range(17))))


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
