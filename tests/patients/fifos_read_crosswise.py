"""Two children of one parent are joined by a pair of FIFOs, and both read before they write: each waits for the other's word."""

import multiprocessing
import os

from _common import await_still, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("alone",)


def talk(number, place, crew):
    if number:
        outbox, inbox = open(place / "0", "wb"), open(place / "1", "rb")
    else:
        inbox, outbox = open(place / "0", "rb"), open(place / "1", "wb")
    crew.rank = number
    crew.arrive()
    inbox.read(17)
    outbox.write(bytes(17))
    outbox.flush()


def train(rank, world, crew):
    for number in range(2):
        os.mkfifo(crew.place / str(number))
    context = multiprocessing.get_context("fork")
    parts = [context.Process(target=talk, args=(number, crew.place, crew)) for number in range(2)]
    for part in parts:
        part.start()
    await_still(crew.await_word("there", range(2)))
    crew.truth["pids"] = [part.pid for part in parts]
    crew.ready()
    for part in parts:
        part.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
