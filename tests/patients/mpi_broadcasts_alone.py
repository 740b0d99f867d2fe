"""Rank 2 enters an MPI broadcast that the others do not call; they spin in the all-reduce of the next step."""

import threading
import time

from _common import start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [2], "state": "stuck", "accept": ["collective-mismatch"]}
LAUNCHERS = ("mpirun",)
NEEDS = ("mpi4py",)


def report(crew):
    crew.await_word("there", [0, 1])
    time.sleep(1)  # ranks that spin never stand still
    crew.ready()


def train(rank, world, crew):
    from mpi4py import MPI

    for step in range(1_009):
        MPI.COMM_WORLD.allreduce(rank)
        if step == 11 and crew.sick:
            threading.Thread(target=report, args=(crew,), daemon=True).start()
            MPI.COMM_WORLD.bcast(step, root=0)
        elif step == 11:
            crew.arrive()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
