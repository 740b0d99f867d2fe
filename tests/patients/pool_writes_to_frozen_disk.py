"""Rank 0 waits for a pool of threads, which work on a file system that was frozen below them: they are in state D."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor, wait

from _common import await_still, start, wait_until
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


def report(crew, folder, pool):
    crew.await_others()
    wait_until(lambda: len(pool._threads) == 2)
    await_still([thread.native_id for thread in pool._threads], states="D")
    crew.ready(undo=[["fsfreeze", "-u", str(folder)], ["umount", "-l", str(folder)]])


def part(folder, number):
    (folder / f"part{number}").mkdir()


def save(crew, folder):
    with ThreadPoolExecutor(2) as pool:
        parts = [pool.submit(part, folder, number) for number in range(5)]
        threading.Thread(target=report, args=(crew, folder, pool), daemon=True).start()
        wait(parts)


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
