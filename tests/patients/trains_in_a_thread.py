"""Training runs in a thread that is not the main one (as under Ray): there, rank 1 stays in its own code."""

import threading
import time

from _common import await_still, join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "spawn")
NEEDS = ("torch",)


def fetch(crew):
    await_still(crew.await_word("working", [0, 2]))
    crew.ready()
    threading.Event().wait()


def work(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    for step in range(11):
        if step == 7:
            if rank == 1:
                fetch(crew)
            (crew.place / f"working.{rank}").write_text(str(threading.get_native_id()))
        dist.all_reduce(torch.full((3,), float(step)))


def train(rank, world, crew):
    thread = threading.Thread(target=work, args=(rank, world, crew), daemon=True)
    thread.start()
    while thread.is_alive():
        time.sleep(0.1)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
