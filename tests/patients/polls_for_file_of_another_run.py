"""Rank 1 looks every tenth of a second whether a file is there that nobody will write; it counts its attempts."""

import time

from _common import start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "forked")


def prepared(path, crew):
    for attempt in range(1_000_000):
        if path.exists():
            return attempt
        if attempt == 11:
            crew.await_others()
            crew.ready()
        time.sleep(0.1)
    return None


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        prepared(crew.place / "index.done", crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
