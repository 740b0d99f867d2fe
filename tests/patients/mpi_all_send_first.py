"""Each rank sends a large block to its right neighbour over MPI before it receives from the left: all spin in the send."""

import threading
import time

from _common import start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def report(crew):
    crew.await_word("there", [0, 1, 2])
    time.sleep(1)  # ranks that spin never stand still
    crew.ready()


def shift(rank, world, block):
    from mpi4py import MPI

    MPI.COMM_WORLD.Send([block, MPI.BYTE], dest=(rank + 1) % world)
    MPI.COMM_WORLD.Recv([block, MPI.BYTE], source=(rank - 1) % world)


def train(rank, world, crew):
    shift(rank, world, bytearray(101))
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    shift(rank, world, bytearray(8_000_009))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
