"""Healthy: two children of one parent talk by a pair of FIFOs; the one writes before it reads, now and then."""

import multiprocessing
import os
import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("alone",)


def ask(place, crew):
    outbox, inbox = open(place / "0", "wb"), open(place / "1", "rb")
    for step in range(1_000_003):
        time.sleep(0.17)
        outbox.write(bytes(17))
        outbox.flush()
        inbox.read(17)
        if step == 3:
            crew.ready(stuck_after=1)


def answer(place):
    inbox, outbox = open(place / "0", "rb"), open(place / "1", "wb")
    while inbox.read(17):
        time.sleep(0.05)
        outbox.write(bytes(17))
        outbox.flush()


def train(rank, world, crew):
    for number in range(2):
        os.mkfifo(crew.place / str(number))
    context = multiprocessing.get_context("fork")
    parts = [context.Process(target=ask, args=(crew.place, crew)), context.Process(target=answer, args=(crew.place,))]
    for part in parts:
        part.start()
    for part in parts:
        part.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
