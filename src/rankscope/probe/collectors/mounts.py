"""The mounts behind a process that waits inside the kernel for storage; from /proc alone, since touching them would block."""

from __future__ import annotations

from ...model.evidence.blocked import Blocked
from ...model.evidence.space import Mount, WaitedMounts
from .. import mounts
from ..collector import Collector, Target, Touch

_MOST = 16


def collect(target: Target) -> WaitedMounts | None:
    waiting = mounts.held_up(target.seen.get("threads"))
    if not waiting:
        return None
    known = mounts.read(target.path)
    blocked: Blocked | None = target.seen.get("blocked")
    fds = sorted({fd for call in (blocked.calls if blocked else ()) if call.tid in waiting for fd in call.fds})
    found = dict.fromkeys(mount for fd in fds[:_MOST] if (mount := _of(target.path, fd, known)) is not None)
    if found:
        return WaitedMounts(tuple(found))
    served = known.served()[:_MOST]
    return WaitedMounts(served, known=False) if served else None


def _of(path: str, fd: int, known: mounts.Mounts) -> Mount | None:
    try:
        return mounts.of_fd(path, fd, known)
    except OSError:
        return None


COLLECTOR = Collector("mounts", Touch.PASSIVE, 1.0, collect, order=45)
