"""How many processes and threads the control groups of a process allow, from pids.max and pids.current (cgroups(7), the pids
controller; kernel documentation, "Process Number Controller"): a limit of any group above bounds all below it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...model.evidence.task_limit import TaskLimit
from ...model.process import Role
from .. import procfs
from ..collector import Collector, Target, Touch
from .cgroup import MOUNT, group_of

_WORKS = frozenset({Role.RANK, Role.DATALOADER_WORKER, Role.COMPILE_WORKER, Role.OTHER})
_DEEPEST = 32


def collect(target: Target) -> TaskLimit | None:
    place = group_of(procfs.read(f"{target.path}/cgroup", 1 << 14).decode("utf-8", "replace"), "pids")
    if place is None:
        return None
    key = f"{place[0]}{place[1]}"
    if key not in target.shelf:
        target.shelf[key] = tightest(*place)
    found = target.shelf[key]
    return found if isinstance(found, TaskLimit) else None


def tightest(version: int, path: str, mount: str = MOUNT) -> TaskLimit | None:
    """The group with the least room among one and those above it, None where none has a limit."""
    top = f"{mount}/pids" if version == 1 else mount
    return min(_limits(top, path), key=lambda one: one.limit - one.count, default=None)


def _limits(top: str, path: str) -> Iterator[TaskLimit]:
    for _ in range(_DEEPEST):
        limit, count = (_number(f"{top}{path.rstrip('/')}/pids.{name}") for name in ("max", "current"))
        if limit is not None and count is not None:
            yield TaskLimit(path, count, limit)
        if path == "/":
            return
        path = os.path.dirname(path)


def _number(path: str) -> int | None:
    """What a file says; None for no limit ("max"), and where there is no such file."""
    try:
        text = procfs.read(path, 64).strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


COLLECTOR = Collector("task-limit", Touch.PASSIVE, 0.5, collect, every_sweep=False, roles=_WORKS, order=21)
