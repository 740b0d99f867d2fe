"""Two ranks open a pair of FIFOs, each the one that it reads from first: every open waits for the other side's."""

import os
import threading

from _common import await_still, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("shell", "forked")


def connect(folder, rank):
    inbox = open(folder / f"to{rank}", "rb")
    return inbox, open(folder / f"to{1 - rank}", "wb")


def report(crew):
    await_still(crew.await_word("there", range(crew.world)))
    crew.ready()


def train(rank, world, crew):
    if rank == 0:
        for number in range(world):
            os.mkfifo(crew.place / f"to{number}")
        crew.arrive("made")
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    crew.await_word("made", [0])
    crew.arrive()
    inbox, outbox = connect(crew.place, rank)
    outbox.write(bytes(17))
    outbox.flush()
    inbox.read(17)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
