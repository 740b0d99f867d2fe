"""Rank 2 left the loop early and its program is over; an exit handler waits for ever, the others are in an all_reduce."""

import atexit
import queue
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "exit-hang", "ranks": [2], "state": "stuck", "accept": ["collective-missed-by-rank"]}
LAUNCHERS = ("torchrun", "shell")
NEEDS = ("torch",)


class Run:
    """Records of a run, sent by a thread that ends at the first empty one."""

    def __init__(self):
        self.records = queue.Queue()
        self.thread = threading.Thread(target=self.send, daemon=True)
        self.thread.start()

    def send(self):
        while self.records.get() is not None:
            self.records.task_done()

    def finish(self):
        self.records.put(None)
        self.records.join()


def report(crew):
    crew.await_others()
    await_still([threading.main_thread().native_id])
    crew.ready()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    run = Run()
    atexit.register(run.finish)
    for step in range(11):
        if step == 7:
            if rank == 2:
                threading.Thread(target=report, args=(crew,), daemon=True).start()
                return
            crew.arrive()
        dist.all_reduce(torch.full((3,), float(step)))
        run.records.put(step)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
