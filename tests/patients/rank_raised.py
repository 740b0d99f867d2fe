"""Rank 1 ended with an exception; the others wait for it at a barrier that does not know about it."""

import multiprocessing
import os
import threading

from _common import await_still, start, wait_until

TRUTH = {"class": "dead-rank", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("forked",)

barrier = multiprocessing.get_context("fork").Barrier(3)


def load(rank, number):
    if rank == 1 and number == 3:
        raise ValueError(f"bad record {number}")
    return number


def zombie(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def report(crew):
    first, other = crew.await_word("there", [1, 2])
    wait_until(lambda: zombie(first))
    await_still([other, os.getpid()])
    crew.ready()


def train(rank, world, crew):
    total = 0
    for number in range(7):
        if number == 3:
            crew.arrive()
            if rank == 0:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        total += load(rank, number)
        barrier.wait()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
