"""Four children meet after each round of their shards; one has no shard in the last, and has ended. A manager stands by."""

import multiprocessing
import os
import threading

from _common import await_still, start, wait_until

TRUTH = {"class": "child-dead", "accept": ["collective-missed-by-rank"], "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def count(number, rounds, table, meet):
    for _ in range(rounds):
        table[number] = rounds
        meet.wait()


def has_ended(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def report(crew, parts):
    wait_until(lambda: has_ended(parts[-1].pid))
    await_still([os.getpid(), *(part.pid for part in parts[:-1])])
    crew.truth["pids"] = [part.pid for part in parts[:-1]]
    crew.ready()


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        table, meet = manager.dict(), context.Barrier(4)
        parts = [context.Process(target=count, args=(at, 3 - at // 3, table, meet)) for at in range(4)]
        for part in parts:
            part.start()
        threading.Thread(target=report, args=(crew, parts), daemon=True).start()
        parts[0].join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
