"""The main thread waits for an event that a thread of its own should set; that thread has raised, and no other one is left."""

import os
import threading

from _common import await_still, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def load(number, loaded):
    if number < 7:
        raise ValueError(f"no part {number}")
    loaded.set()


def report(crew):
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    loaded = threading.Event()
    threading.Thread(target=load, args=(5, loaded)).start()
    threading.Thread(target=report, args=(crew,)).start()
    loaded.wait()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
