"""Rank 0 is in a regular expression that needs longer than the age of the universe: C code that keeps the GIL."""

import re

from _common import start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def clean(text):
    return re.sub(r"(\w+\s?)+$", "", text)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        crew.await_others()
        crew.ready()
        clean("seven" * 13 + "!")
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
