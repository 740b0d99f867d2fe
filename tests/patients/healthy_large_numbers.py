"""Healthy: one step is a power of a number, which takes a minute in one instruction that keeps the GIL."""

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("alone",)


def train(rank, world, crew):
    crew.ready()
    for base in range(7, 10_007):
        size = (base**60_000_017).bit_length()
        print(base, size)


if __name__ == "__main__":
    start(train, TRUTH, world=1, launchers=LAUNCHERS)
