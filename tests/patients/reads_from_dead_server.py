"""Rank 2 reads a file of a file system whose server does not answer any more (FUSE, as a dead NFS server)."""

import os
import pathlib
import threading

from _common import await_still, outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "filesystem-stall", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root", "fuse")


def mount(crew):
    folder = crew.place / "data"
    folder.mkdir()
    outside((pathlib.Path(__file__).parent / "_fuse.py").read_text(), folder)
    wait_until(lambda: os.path.ismount(folder))
    return folder


def report(crew, folder, main):
    crew.await_others()
    await_still([main], states="SD")
    crew.ready(undo=[["umount", "-l", "-f", str(folder)]])


def load(crew, folder):
    threading.Thread(target=report, args=(crew, folder, threading.main_thread().native_id), daemon=True).start()
    with open(folder / "part2.bin", "rb", buffering=0) as file:
        return file.read(4099)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        load(crew, mount(crew))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
