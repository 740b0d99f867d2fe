"""Healthy: two idle children each open a FIFO of their own for orders; their parent looks for work now and then."""

import multiprocessing
import os
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def serve(place, number):
    while True:
        with open(place / f"orders{number}") as orders:
            for line in orders:
                print(line, end="")


def train(rank, world, crew):
    for number in range(2):
        os.mkfifo(crew.place / f"orders{number}")
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=serve, args=(crew.place, number), daemon=True) for number in range(2)]
    for worker in workers:
        worker.start()
    await_still([worker.pid for worker in workers])
    crew.ready(stuck_after=0.3)
    while not (crew.place / "stop").exists():
        time.sleep(0.3)


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
