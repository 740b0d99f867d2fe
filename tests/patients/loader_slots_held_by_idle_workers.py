"""Workers of a loader keep the two slots of a semaphore from item to item; that of a second loader wants one of them."""

import multiprocessing

from _common import await_still, start

TRUTH = {"class": "dataloader-worker-deadlock", "ranks": [], "state": "stuck", "accept": ["lock-order-deadlock"]}
LAUNCHERS = ("alone",)
NEEDS = ("torch",)


def train(rank, world, crew):
    import os
    import threading

    from torch.utils.data import DataLoader, IterableDataset

    class Shards(IterableDataset):
        def __init__(self, slots, named):
            self.slots, self.named = slots, named

        def __iter__(self):
            if self.named:
                crew.arrive("asks")
            with self.slots:
                yield from range(700)

    def report():
        await_still(crew.await_word("asks", [0]))
        await_still([os.getpid()])
        crew.ready(pids=crew.await_word("asks", [0]))

    slots = multiprocessing.get_context("fork").Semaphore(2)
    first = DataLoader(Shards(slots, False), batch_size=7, num_workers=2)
    second = DataLoader(Shards(slots, True), batch_size=7, num_workers=1)
    for step, _ in enumerate(first):
        if step == 5:
            threading.Thread(target=report, daemon=True).start()
            next(iter(second))


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
