"""Rank 1 keeps each sample as a file of its own on a small disk with room but no inode left, and tries again for ever."""

import errno
import json
import logging
import subprocess
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": "storage-full", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root",)

log = logging.getLogger("cache")


class SampleCache:
    """Samples as small files; a full disk is cleaned every now and then, so a write is worth another try."""

    def __init__(self, folder):
        self.folder = folder

    def put(self, number, sample):
        text = json.dumps(sample)
        while True:
            try:
                (self.folder / f"{number:06}.json").write_text(text)
                return
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                log.warning("cannot keep sample %d: %s", number, error)
                time.sleep(1.3)


def report(crew, folder):
    crew.await_others()
    time.sleep(3)
    crew.ready(undo=[["umount", "-l", str(folder)]])


def train(rank, world, crew):
    folder = crew.place / f"cache{rank}"
    folder.mkdir()
    if crew.sick:
        limits = "size=16m,nr_inodes=499"
        subprocess.run(["mount", "-t", "tmpfs", "-o", limits, "scratch", str(folder)], check=True)
    cache = SampleCache(folder)
    ring = Ring(rank, world)
    if crew.sick:
        threading.Thread(target=report, args=(crew, folder), daemon=True).start()
    for step in range(13):
        if step == 9:
            crew.arrive()
        for number in range(step * 53, step * 53 + 53):
            cache.put(number, {"tokens": [number % 97] * 20})
        ring.add(step)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
