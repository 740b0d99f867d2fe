"""Three threads of rank 2 each take one semaphore and want the next one; the main thread joins them."""

import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def take(first, second, meeting):
    with first:
        meeting.wait()
        with second:
            pass


def watch(crew, workers):
    crew.await_others()
    await_still([worker.native_id for worker in workers])
    crew.ready()


def run(crew):
    gates = [threading.Semaphore(1) for _ in range(3)]
    meeting = threading.Barrier(3)
    pairs = zip(gates, gates[1:] + gates[:1])
    workers = [threading.Thread(target=take, args=(*pair, meeting)) for pair in pairs]
    for worker in workers:
        worker.start()
    threading.Thread(target=watch, args=(crew, workers), daemon=True).start()
    for worker in workers:
        worker.join()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        run(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
