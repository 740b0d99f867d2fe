"""Healthy: each step of three ranks is one call into C code, rank 2's the longest, and then an MPI all-reduce."""

import hashlib

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def train(rank, world, crew):
    from mpi4py import MPI

    for step in range(1_000_003):
        hashlib.pbkdf2_hmac("sha256", b"7", b"13", 700_001 if rank == 2 else 300_007)
        MPI.COMM_WORLD.allreduce(rank)
        if rank == 0 and step == 3:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
