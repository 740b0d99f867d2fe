"""The memory control group of a process: limit, use, and how often the kernel killed in it.

Version 2 counts in memory.events, over all groups below; version 1 in memory.oom_control and memory.failcnt, of the group
alone (kernel documentation, "Control Group v2" and "Memory Resource Controller"). A zombie of version 1 has left its group.
"""

from __future__ import annotations

import os
import time

from ...model.evidence.cgroup import ControlGroup
from .. import procfs
from ..collector import Collector, Target, Touch

MOUNT = "/sys/fs/cgroup"
_NO_LIMIT = 1 << 60  # version 1 writes "no limit" as the largest multiple of a page
_FRESH_S = 0.3
_DELETED = " (deleted)"


def collect(target: Target) -> ControlGroup | None:
    place = group_of(procfs.read(f"{target.path}/cgroup", 1 << 14).decode("utf-8", "replace"))
    if place is None or (place[0] == 1 and _ended(target)):
        return None
    key = f"{place[0]}{place[1]}"
    at, known = target.shelf.get(key, (0.0, None))
    if known is None or time.monotonic() - at > _FRESH_S:
        known = look(*place)
        target.shelf[key] = (time.monotonic(), known)
    return known if isinstance(known, ControlGroup) else None


def _ended(target: Target) -> bool:
    kernel = target.seen.get("threads")
    return kernel is not None and all(task.state in "ZX" for task in kernel.threads)


def group_of(text: str, controller: str = "memory") -> tuple[int, str] | None:
    """Version and path of the group in which a controller bounds a process, from /proc/PID/cgroup."""
    unified = None
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        path = path[: -len(_DELETED)] if path.endswith(_DELETED) else path
        if ".." in path.split("/") or not path.startswith("/"):
            continue  # outside our cgroup namespace: its files are not to be seen from here
        if controller in controllers.split(","):
            return 1, path
        if number == "0":
            unified = 2, path
    return unified


def look(version: int, path: str, mount: str = MOUNT) -> ControlGroup | None:
    """What the group's files say; None where there are none."""
    folder = f"{mount}/memory{path}" if version == 1 else f"{mount}{path}"
    names = ("memory.oom_control", "memory.limit_in_bytes", "memory.usage_in_bytes") if version == 1 else (
        "memory.events", "memory.max", "memory.current")  # fmt: skip
    if not os.path.exists(f"{folder}/{names[0]}"):
        return None
    events = _words(f"{folder}/{names[0]}")
    limit = _number(f"{folder}/{names[1]}")
    reached = _number(f"{folder}/memory.failcnt") if version == 1 else events.get("max")
    return ControlGroup(
        path, version, events.get("oom_kill", -1), -1 if reached is None else reached,
        None if limit is None or limit >= _NO_LIMIT else limit, _number(f"{folder}/{names[2]}"),
        waits=events.get("under_oom") == 1,
    )  # fmt: skip


def _words(path: str) -> dict[str, int]:
    pairs = (line.split() for line in _text(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _number(path: str) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: str) -> str:
    try:
        return procfs.read(path, 1 << 14).decode("ascii", "replace")
    except OSError:
        return ""


COLLECTOR = Collector("cgroup", Touch.PASSIVE, 1.0, collect, order=20)
