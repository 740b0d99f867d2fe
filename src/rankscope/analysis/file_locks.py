"""Who waits for a file lock that another process has, as the kernel's list of locks tells."""

from __future__ import annotations

from ..model.evidence.blocked import Blocked
from ..model.process import ProcessRef
from .case import Case


def wants_lock_of(case: Case, waiter: ProcessRef, holder: ProcessRef, asks: bool = True) -> bool:
    """Whether one member waits for a file lock of another one: in the kernel, or also where it ``asks`` again and again."""
    member = case.by_ref.get(waiter)
    blocked = member.latest(Blocked) if member is not None and waiter.host == holder.host else None
    locks = [lock for lock in (blocked.locks if blocked else ()) if asks or not lock.asked]
    return any(holder.pid in lock.holders for lock in locks)
