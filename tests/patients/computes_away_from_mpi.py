"""Rank 2 computes for ever in a loop of its own, while the others spin in an MPI broadcast at full speed."""

from _common import start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def tune(value):
    while value != 1.0:
        value = value / 3 * 3 + 2.0
    return value


def train(rank, world, crew):
    from mpi4py import MPI

    weights = MPI.COMM_WORLD.allreduce(rank)
    if rank == 2:
        crew.await_word("there", [0, 1])
        crew.ready()
        tune(7.0)
    crew.arrive()
    for step in range(7):
        weights = MPI.COMM_WORLD.bcast(weights + step, root=2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
