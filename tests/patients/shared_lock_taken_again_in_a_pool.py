"""A worker of a pool takes a lock of multiprocessing, and calls what takes it as well; the others of the pool want it too."""

import multiprocessing
import os
import threading

from _common import await_still, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def note(gate, row):
    with gate:
        return row


def flush(gate, crew, rows, number):
    crew.rank = number
    with gate:
        crew.arrive("inside")
        return [note(gate, row) for row in rows]


def work(number):
    crew, gate = multiprocessing.current_process().shelf
    if number:
        crew.await_word("inside", [0])
    crew.rank = number
    crew.arrive()
    return flush(gate, crew, range(7), number)


def equip(crew, gate):
    multiprocessing.current_process().shelf = (crew, gate)


def report(crew):
    workers = crew.await_word("there", range(3))
    await_still([os.getpid(), *workers])
    crew.ready(pids=workers[:1])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    with context.Pool(3, equip, (crew, context.Lock())) as pool:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        print(pool.map(work, range(3), chunksize=1))


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
