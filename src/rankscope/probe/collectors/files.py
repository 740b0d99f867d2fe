"""Open descriptors and what they point to, from /proc/PID/fd (proc(5)): pipes, sockets and files one may wait for; and how
many there may be, from /proc/PID/limits."""

from __future__ import annotations

import os

from ...model.evidence.files import OpenFile, OpenFiles
from .. import procfs
from ..collector import Collector, Target, Touch

MAX_FILES = 4096


def collect(target: Target) -> OpenFiles:
    folder = f"{target.path}/fd"
    numbers = sorted(map(int, os.listdir(folder)))
    found = []
    for fd in numbers[:MAX_FILES]:
        try:
            found.append(OpenFile(fd, procfs.link(f"{folder}/{fd}"), _mode(f"{folder}/{fd}")))
        except FileNotFoundError:
            continue  # closed while we looked
    return OpenFiles(
        tuple(found), truncated=len(numbers) > MAX_FILES, limit=limit_of(procfs.read(f"{target.path}/limits"))
    )


def limit_of(limits: bytes) -> int:
    """The soft limit of open files that /proc/PID/limits tells, 0 where it tells none."""
    line = next((one for one in limits.splitlines() if one.startswith(b"Max open files")), b"")
    words = line[len(b"Max open files") :].split()
    return int(words[0]) if words and words[0].isdigit() else 0


def _mode(link: str) -> str:
    """How the descriptor is open: the owner's bits of the link itself say so (proc(5))."""
    bits = os.lstat(link).st_mode
    return ("r" if bits & 0o400 else "") + ("w" if bits & 0o200 else "")


COLLECTOR = Collector("files", Touch.PASSIVE, 2.0, collect, every_sweep=False, order=30)
