"""Rank 1 starts a program that lies on a file system whose server never answers; both stand in state D."""

import subprocess
import sys
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "filesystem-stall", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("root", "fuse")


def mount(crew):
    folder = crew.place / "tools"
    folder.mkdir()
    subprocess.Popen(["setsid", sys.executable, str(crew.place / "_fuse.py"), str(folder)], stdin=subprocess.DEVNULL)
    while not folder.is_mount():
        pass
    return folder


def report(crew, folder, main):
    crew.await_others()
    await_still([main], states="D")
    crew.ready(undo=[["umount", "-f", str(folder)], ["umount", "-l", str(folder)]])


def convert(crew, folder):
    threading.Thread(target=report, args=(crew, folder, threading.main_thread().native_id), daemon=True).start()
    return subprocess.run([str(folder / "convert"), "part 7"], check=False)


def train(rank, world, crew):
    ring = Ring(rank, world)
    folder = mount(crew) if crew.sick else None
    ring.add(1)
    if crew.sick:
        convert(crew, folder)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
