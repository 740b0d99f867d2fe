"""Rank 0 writes a checkpoint to a file system that was frozen below it: state D."""

import subprocess
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "filesystem-stall", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root", "loop", "mkfs.ext4", "fsfreeze")


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def mount(crew):
    image, folder = crew.place / "disk", crew.place / "out"
    folder.mkdir()
    run("truncate", "-s", "16m", str(image))
    run("mkfs.ext4", "-q", "-F", str(image))
    run("mount", "-o", "loop", str(image), str(folder))
    return folder


def report(crew, folder, main):
    crew.await_others()
    await_still([main], states="D")
    crew.ready(undo=[["fsfreeze", "-u", str(folder)], ["umount", "-l", str(folder)]])


def save(crew, folder):
    threading.Thread(target=report, args=(crew, folder, threading.main_thread().native_id), daemon=True).start()
    with open(folder / "part0.bin", "wb") as out:
        out.write(b"\0" * 70_001)


def train(rank, world, crew):
    ring = Ring(rank, world)
    folder = mount(crew) if rank == 0 else None
    ring.add(1)
    if rank == 0:
        run("fsfreeze", "-f", str(folder))
        save(crew, folder)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
