"""Rank 1 leaves an update early, with the lock of rank 0's window, and goes to the barrier; rank 2 spins for the lock."""

import threading
import time

from _common import start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def report(crew):
    crew.await_word("there", [1, 2])
    time.sleep(2)  # ranks that spin never stand still
    crew.ready()


def update(window, row):
    from mpi4py import MPI

    window.Lock(0, MPI.LOCK_EXCLUSIVE)
    if not row:
        return
    window.Put([row, MPI.BYTE], 0)
    window.Unlock(0)


def train(rank, world, crew):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    window = MPI.Win.Allocate(101 if rank == 0 else 0, comm=comm)
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    for step in range(1009):
        row = bytes(101)
        if step == 5 and rank == 1:
            row = b""
        if step == 5 and rank == 2:
            crew.await_word("there", [1])
            crew.arrive()
        if rank:
            update(window, row)
        if step == 5 and rank == 1:
            crew.arrive()
        comm.Barrier()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
