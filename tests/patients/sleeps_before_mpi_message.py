"""Rank 0 spins in an MPI receive at full speed; rank 1, which should send, polls for a file that nobody writes."""

import os
import time

from _common import start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def load(path):
    while not os.path.exists(path):
        time.sleep(0.2)
    return path


def train(rank, world, crew):
    from mpi4py import MPI

    weights = MPI.COMM_WORLD.allreduce(rank)
    if rank == 0:
        crew.arrive()
        weights = MPI.COMM_WORLD.recv(source=1)
    elif rank == 1:
        crew.await_word("there", [0])
        crew.ready()
        MPI.COMM_WORLD.send(load("weights.pt"), dest=0)
    MPI.COMM_WORLD.bcast(weights, root=0)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
