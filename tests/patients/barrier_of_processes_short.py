"""Two children meet at a barrier for three, after each has put a result into a queue; their parent waits for more results."""

import multiprocessing
import os
import threading

from _common import await_still, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def simulate(results, gate):
    results.put(os.getpid())
    gate.wait()
    results.put(7)


def report(crew, parts):
    await_still([os.getpid(), *(part.pid for part in parts)])
    crew.truth["pids"] = [part.pid for part in parts]
    crew.ready()


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    gate, results = context.Barrier(3), context.Queue()
    parts = [context.Process(target=simulate, args=(results, gate)) for _ in range(2)]
    for part in parts:
        part.start()
    threading.Thread(target=report, args=(crew, parts), daemon=True).start()
    for _ in range(4):
        results.get()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
