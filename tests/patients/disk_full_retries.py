"""Rank 0 tries to write a checkpoint again and again on a file system that is full."""

import subprocess
import sys
import time

from _common import start
from _ring import Ring

TRUTH = {"class": "storage-full", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root",)


def mount(crew):
    folder = crew.place / "out"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "out", str(folder)], check=True)
    return folder


def save(crew, folder):
    crew.await_others()
    for attempt in range(1_000_000):
        with open(folder / "part0.bin", "ab", buffering=0) as out:
            try:
                while True:
                    out.write(b"\0" * 65_537)
            except OSError as error:
                print(f"cannot write {out.name}: {error}; trying again", file=sys.stderr, flush=True)
                if attempt == 1:
                    crew.ready(undo=[["umount", "-l", str(folder)]])
                time.sleep(0.5)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        save(crew, mount(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
