"""Two children open a pair of FIFOs, each the one that it writes to first; a third one looks at a log now and then."""

import multiprocessing
import os
import threading
import time

from _common import await_still, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("alone",)


def control(place):
    with open(place / "orders", "w") as orders, open(place / "state") as state:
        orders.write("seven\n")
        state.readline()


def simulate(place):
    with open(place / "state", "w") as state, open(place / "orders") as orders:
        state.writelines(orders)


def watch(place):
    while not (place / "log").exists():
        time.sleep(0.3)


def report(crew, pair):
    await_still([os.getpid(), *(one.pid for one in pair)])
    crew.ready(pids=[one.pid for one in pair])


def train(rank, world, crew):
    for name in ("orders", "state"):
        os.mkfifo(crew.place / name)
    context = multiprocessing.get_context("fork")
    parts = [context.Process(target=part, args=(crew.place,)) for part in (control, simulate, watch)]
    for part in parts:
        part.start()
    threading.Thread(target=report, args=(crew, parts[:2]), daemon=True).start()
    parts[0].join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
