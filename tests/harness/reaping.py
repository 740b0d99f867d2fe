"""Ending a program together with everything it ever started, orphans included (proc(5), prctl(2))."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator

from .waiting import NeverHappened, wait_until

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that they can be found and reaped."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def marked(mark: bytes) -> set[int]:
    """All processes whose environment at exec, or that of a forebear, carried the mark."""
    parents = dict(_parents())
    own = {pid for pid in parents if mark in _environ(pid)}
    found, grown = set(own), True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found - {os.getpid()}


def end(mark: bytes, known: set[int], within: float = 10.0) -> set[int]:
    """Kill and reap every marked process (and those known before); give the ones that would not go."""

    def gone() -> bool:
        left = marked(mark) | {pid for pid in known if _alive(pid)}
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in left | known:
            _reap(pid)
        known.update(left)
        # A pool may have forked a new worker between our look and our blow: only a fresh look says that all are gone.
        return not any(_alive(pid) for pid in known) and not any(map(_alive, marked(mark)))

    with contextlib.suppress(NeverHappened):
        wait_until(gone, within)
    return {pid for pid in known if _alive(pid)}


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                yield int(name), int(file.read().rpartition(b")")[2].split()[1])


def _environ(pid: int) -> bytes:
    # The environment of a process that stands in the kernel with its memory lock held cannot be read; who does that here
    # undoes it before it is ended, and the harness has the test's own time limit.
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _alive(pid: int) -> bool:
    """Whether the process exists and is ours; a zombie of somebody else's is not alive."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return False
    return state not in (b"Z", b"X") or int(parent) == os.getpid()


def _reap(pid: int) -> None:
    # Only pids we know: waiting for "any child" would steal exit codes from others in this process.
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)
