"""Rank 1 waits, with the GIL held, in a C function that naps and looks again until a Python thread has filled a buffer."""

import ctypes
import os
import subprocess
import threading
import time

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "gil-deadlock", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "spawned")
NEEDS = ("gcc",)

SOURCE = r"""
#include <unistd.h>
static volatile long filled, used;
void frames_push(long n) { filled += n; }
long frames_take(long n) {
    while (filled - used < n)
        usleep(2000);
    used += n;
    return used;
}
"""


def build(crew):
    folder = crew.place / f"build{crew.rank}"
    folder.mkdir()
    (folder / "frames.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", "libframes.so", "frames.c"], cwd=folder, check=True)
    return ctypes.PyDLL(str(folder / "libframes.so"))


def grab(frames, count):
    """The camera's side: a few frames each time the driver says so."""
    for _ in range(count):
        time.sleep(0.05)
        frames.frames_push(4)


def report(crew):
    crew.await_word("there", [1])
    time.sleep(2)
    others = crew.await_word("there", [2])
    await_still([os.getpid(), *others])
    crew.ready()


def train(rank, world, crew):
    frames = build(crew)
    ring = Ring(rank, world)
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    frames.frames_push(400)
    grabber = threading.Thread(target=grab, args=(frames, 1_009), daemon=True)
    if crew.sick:
        frames.frames_take(372)
        grabber.start()
    for step in range(13):
        if step == 7:
            crew.arrive()
        if step > 6:
            frames.frames_take(23)
        ring.add(step)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
