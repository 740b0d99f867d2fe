"""Healthy: large blocks go round a ring of MPI ranks, the first of which receives before it sends; nobody sleeps."""

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def train(rank, world, crew):
    from mpi4py import MPI

    block, right, left = bytearray(8_000_009), (rank + 1) % world, (rank - 1) % world
    for step in range(1_000_003):
        if rank:
            MPI.COMM_WORLD.Send([block, MPI.BYTE], dest=right)
        MPI.COMM_WORLD.Recv([block, MPI.BYTE], source=left)
        if not rank:
            MPI.COMM_WORLD.Send([block, MPI.BYTE], dest=right)
        if rank == 0 and step == 7:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
