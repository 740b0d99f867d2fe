"""Healthy: MPI ranks take the lock of one window in turn, each keeps it for a while, and now and then all meet."""

import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def draw(window):
    from mpi4py import MPI

    got = bytearray(8)
    window.Lock(0, MPI.LOCK_EXCLUSIVE)
    window.Get([got, MPI.BYTE], 0)
    window.Flush(0)
    time.sleep(0.15)
    number = int.from_bytes(got, "little")
    window.Put([(number + 1).to_bytes(8, "little"), MPI.BYTE], 0)
    window.Unlock(0)
    return number


def train(rank, world, crew):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    window = MPI.Win.Allocate(8 if rank == 0 else 0, comm=comm)
    comm.Barrier()
    for step in range(100_003):
        time.sleep(0.05 * (draw(window) % 5))
        if step % 11 == 10:
            comm.Barrier()
        if step == 11 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
