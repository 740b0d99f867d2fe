"""Rank 0 accepts a connection that its helper should make; the helper waits for something else for ever."""

import multiprocessing
import os
import socket
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell",)


def serve():
    threading.Event().wait()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def meet(crew):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        multiprocessing.get_context("spawn").Process(target=serve, daemon=True).start()
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        return listener.accept()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        meet(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
