"""Ranks 0 and 2 spin in an MPI all-reduce at full speed; rank 1 stands in its own code and never calls it."""

import threading
import time

from _common import start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "accept": ["collective-missed-by-rank"]}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def train(rank, world, crew):
    from mpi4py import MPI

    MPI.COMM_WORLD.allreduce(rank)
    if crew.sick:
        crew.await_word("there", [0, 2])
        time.sleep(1)
        crew.ready()
        threading.Event().wait()
    crew.arrive()
    MPI.COMM_WORLD.allreduce(rank)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
