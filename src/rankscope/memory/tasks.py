"""The threads of a process as the kernel counts them: did one run between two looks? (proc(5), /proc/PID/task/TID/status)

A thread did not run between two looks when it was not running at either and its switch counts are the same: to have run
it would have had to be switched to, and away again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TASKS_LIMIT = 16384
_STATUS_LIMIT = 16384


@dataclass(frozen=True)
class Task:
    """One thread. ``inner`` is its id in its own pid namespace; counts are −1 where the kernel does not tell."""

    tid: int
    inner: int
    state: str
    voluntary: int
    involuntary: int
    comm: str = ""


def parse(tid: int, raw: bytes) -> Task:
    """Read what matters of a status file."""
    ids = _field(raw, b"\nNSpid:").split()
    return Task(
        tid,
        int(ids[-1]) if ids else tid,
        _field(raw, b"\nState:")[:1].decode("ascii", "replace"),
        int(_field(raw, b"\nvoluntary_ctxt_switches:") or -1),
        int(_field(raw, b"\nnonvoluntary_ctxt_switches:") or -1),
        raw[len(b"Name:\t") : max(raw.find(b"\n"), 0)].decode("utf-8", "replace"),
    )


def _field(raw: bytes, name: bytes) -> bytes:
    start = raw.find(name)
    if start < 0:
        return b""
    start += len(name)
    return raw[start:].partition(b"\n")[0].strip()


def read(proc: str, pid: int, only: Iterable[int] | None = None) -> dict[int, Task]:
    """Look at all threads of a process, or at some; those that end meanwhile are left out."""
    folder = f"{proc}/{pid}/task"
    names = os.listdir(folder)[:TASKS_LIMIT] if only is None else [str(tid) for tid in only]
    tasks = {}
    for name in names:
        try:
            handle = os.open(f"{folder}/{name}/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            tasks[int(name)] = parse(int(name), os.read(handle, _STATUS_LIMIT))
        except (OSError, ValueError):
            continue
        finally:
            os.close(handle)
    return tasks


def renewed(proc: str, pid: int, looked: Mapping[int, Task] | None) -> dict[int, Task]:
    """An earlier look, with the threads that have come since and without those that have gone."""
    if not looked:
        return read(proc, pid)
    now = {int(name) for name in os.listdir(f"{proc}/{pid}/task")[:TASKS_LIMIT]}
    kept = {tid: task for tid, task in looked.items() if tid in now}
    return {**kept, **read(proc, pid, now - kept.keys())} if len(kept) < len(now) else kept


def slept(before: Task | None, after: Task | None) -> bool:
    """Whether a thread certainly did not run between two looks."""
    if before is None or after is None or "R" in (before.state, after.state) or before.voluntary < 0:
        return False
    return (before.voluntary, before.involuntary) == (after.voluntary, after.involuntary)
