"""Rank 1 gives up a part of its input and returns well, while the others wait in the store for its share."""

import threading

from _common import await_still, join_group, start, wait_until

TRUTH = {"class": "dead-rank", "ranks": [1], "state": "stuck", "accept": ["child-dead"]}
LAUNCHERS = ("spawn", "torchrun")
NEEDS = ("torch",)


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def report(crew):
    (first,) = crew.await_word("leaving", [1])
    wait_until(lambda: has_ended(first))
    await_still([threading.main_thread().native_id])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    dist.barrier()
    if rank == 1:
        crew.arrive("leaving")
        return
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    store = dist.distributed_c10d._get_default_store()
    store.set(f"share/{rank}", "0.5")
    for other in range(world):
        store.get(f"share/{other}")
    dist.barrier()


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
