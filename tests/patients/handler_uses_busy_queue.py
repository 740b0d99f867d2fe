"""A signal handler of rank 2 puts into the very queue into which the code that it interrupted is putting."""

import os
import queue
import signal

from _common import start
from _ring import Ring

TRUTH = {"class": "lock-order-deadlock", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


class Notes(queue.Queue):
    """A queue whose mutex is held when the signal comes."""

    def __init__(self, crew):
        super().__init__()
        self.crew = crew

    def _put(self, item):
        super()._put(item)
        if item == 7 and self.crew.sick:
            self.crew.await_others()
            self.crew.ready()
            os.kill(os.getpid(), signal.SIGUSR1)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if not crew.sick:
        crew.arrive()
    notes = Notes(crew)
    signal.signal(signal.SIGUSR1, lambda *_: notes.put("asked to report"))
    for item in range(11):
        notes.put(item)
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
