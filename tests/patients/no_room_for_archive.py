"""Rank 1 packs a checkpoint, finds no space, closes the file and tries again; nothing of it is open while it pauses."""

import io
import subprocess
import tarfile
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": "storage-full", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("root",)


def pack(path, data):
    with tarfile.open(path, "w") as archive:
        about = tarfile.TarInfo("part0.bin")
        about.size = len(data)
        archive.addfile(about, io.BytesIO(data))


def save(path, data):
    while True:
        try:
            return pack(path, data)
        except OSError:
            time.sleep(0.3)


def watch(crew, folder):
    crew.await_others()
    time.sleep(0.5)
    crew.ready(undo=[["umount", "-l", str(folder)]])


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        folder = crew.place / "out"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=257k", "tmpfs", str(folder)], check=True)
        threading.Thread(target=watch, args=(crew, folder), daemon=True).start()
        save(folder / "step7.tar", b"\0" * 700_001)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
