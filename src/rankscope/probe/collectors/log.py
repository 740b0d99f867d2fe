"""The end of the job's own output and how long it has been silent, from the files behind fd 1 and 2.

Opened through /proc/PID/fd, which is the very file the job writes to: no path is followed, and only regular files are read.
What lies with a server is left alone while a thread of the process waits for storage: asking for it may block as well.
"""

from __future__ import annotations

import os
import stat
import time

from ...model.evidence.log import Logs, LogTail
from ...model.gap import Gap, Why
from ...model.process import Role
from .. import mounts, procfs
from ..collector import Collector, Target, Touch

TAIL_BYTES = 8 << 10
TAIL_LINES = 40


def collect(target: Target) -> tuple[Logs | Gap, ...]:
    found: list[LogTail] = []
    passed: dict[str, Gap] = {}
    inodes = set()
    known = mounts.read(target.path) if mounts.held_up(target.seen.get("threads")) else None
    for fd in (1, 2):
        link = f"{target.path}/fd/{fd}"
        try:
            mount = mounts.of_fd(target.path, fd, known) if known else None
            if mount is not None and mounts.SERVED.match(mount.kind):
                detail = f"it lies on {mount.place} ({mount.kind}), and the process waits for storage"
                passed[mount.place] = Gap("log", Why.SKIPPED, detail, process=target.process.ref)
                continue
            about = os.stat(link)
            if stat.S_ISREG(about.st_mode) and (about.st_dev, about.st_ino) not in inodes:
                inodes.add((about.st_dev, about.st_ino))
                found.append(_tail(link, fd, about))
        except FileNotFoundError:
            continue
    return (*((Logs(tuple(found)),) if found else ()), *passed.values())


def _tail(link: str, fd: int, about: os.stat_result) -> LogTail:
    handle = os.open(link, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        start = max(0, about.st_size - TAIL_BYTES)
        lines = os.pread(handle, TAIL_BYTES, start).decode("utf-8", "replace").splitlines()
    finally:
        os.close(handle)
    if start and lines:
        lines = lines[1:]  # the first line is cut
    return LogTail(procfs.link(link), fd, about.st_size, round(max(0.0, time.time() - about.st_mtime), 1),
                   tuple(line[:500] for line in lines[-TAIL_LINES:]))  # fmt: skip


COLLECTOR = Collector(
    "log", Touch.PASSIVE, 2.0, collect, roles=frozenset({Role.RANK, Role.LAUNCHER}), order=40, shared=True
)
