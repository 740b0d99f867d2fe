"""The end of the job's own output and how long it has been silent, from the files behind fd 1 and 2.

Opened through /proc/PID/fd, which is the very file the job writes to: no path is followed, and only regular files are read.
"""

from __future__ import annotations

import os
import stat
import time

from ...model.evidence.log import Logs, LogTail
from ...model.process import Role
from ..collector import Collector, Target, Touch

TAIL_BYTES = 8 << 10
TAIL_LINES = 40


def collect(target: Target) -> Logs | None:
    found: list[LogTail] = []
    inodes = set()
    for fd in (1, 2):
        link = f"{target.path}/fd/{fd}"
        try:
            about = os.stat(link)
            if stat.S_ISREG(about.st_mode) and (about.st_dev, about.st_ino) not in inodes:
                inodes.add((about.st_dev, about.st_ino))
                found.append(_tail(link, fd, about))
        except FileNotFoundError:
            continue
    return Logs(tuple(found)) if found else None


def _tail(link: str, fd: int, about: os.stat_result) -> LogTail:
    handle = os.open(link, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        start = max(0, about.st_size - TAIL_BYTES)
        lines = os.pread(handle, TAIL_BYTES, start).decode("utf-8", "replace").splitlines()
    finally:
        os.close(handle)
    if start and lines:
        lines = lines[1:]  # the first line is cut
    return LogTail(os.readlink(link), fd, about.st_size, round(max(0.0, time.time() - about.st_mtime), 1),
                   tuple(line[:500] for line in lines[-TAIL_LINES:]))  # fmt: skip


COLLECTOR = Collector("log", Touch.PASSIVE, 2.0, collect, roles=frozenset({Role.RANK, Role.LAUNCHER}), order=40)
