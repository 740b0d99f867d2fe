"""Rank 2 maps anew what it wrote to a file whose server is dead, and holds the lock of its own memory: no read of that ends."""

import ctypes
import mmap
import os
import pathlib
import threading

from _common import await_still, outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "filesystem-stall", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("root", "fuse")
FIXED = 0x10  # MAP_FIXED of mmap(2), which Python does not name


def mount(crew):
    folder = crew.place / "out"
    folder.mkdir()
    outside((pathlib.Path(__file__).parent / "_fuse.py").read_text(), folder, "writes")
    wait_until(lambda: os.path.ismount(folder))
    return folder


def report(crew, folder):
    """In another rank: hardly anything can be asked of the one that holds its memory, and it can hardly say anything."""
    (holder,) = crew.await_word("maps", crew.truth["ranks"])
    await_still(crew.await_word("there", (rank for rank in range(crew.world) if rank not in crew.truth["ranks"])))
    await_still([holder], states="D")
    crew.ready(undo=[["umount", "-l", "-f", str(folder)]])


def map_pages(at, flags, file):
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    return libc.mmap(at, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0)


def keep(crew, folder):
    part = os.open(folder / "part2.bin", os.O_RDWR)
    pages = map_pages(None, mmap.MAP_SHARED, part)
    ctypes.memset(pages, 7, mmap.PAGESIZE)
    crew.arrive("maps")
    map_pages(pages, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | FIXED, -1)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        keep(crew, mount(crew))
    elif rank == 0:
        threading.Thread(target=report, args=(crew, crew.place / "out"), daemon=True).start()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
