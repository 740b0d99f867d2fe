"""Healthy: three ranks meet in an MPI all-reduce after every step, in which rank 1 has more to do than the others."""

import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def train(rank, world, crew):
    from mpi4py import MPI

    for step in range(1_000_003):
        for part in range(3 if rank == 1 else 1):
            time.sleep(0.05)
            sum(range(10_007 * part))
        MPI.COMM_WORLD.allreduce(rank)
        if rank == 0 and step == 7:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
