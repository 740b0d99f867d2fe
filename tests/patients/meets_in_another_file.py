"""The ranks meet by a file that each names after the run; rank 1 has another run in mind, and waits in a file of its own."""

import datetime
import threading
import time

from _common import start

TRUTH = {"class": "rendezvous-port", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "spawn")
NEEDS = ("torch",)


def report(crew):
    crew.await_word("there", range(crew.world))
    time.sleep(3.0)  # they look into their files a hundred times a second, and never stand still
    crew.ready()


def train(rank, world, crew):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    run = 20_261_121 if crew.sick else 20_261_122
    where = f"file://{crew.place}/tmp/run-{run}"
    crew.arrive()
    dist.init_process_group("gloo", where, datetime.timedelta(hours=2), rank=rank, world_size=world)
    dist.all_reduce(torch.ones(3))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
