"""Who waits for a file lock that another process has, as the kernel's list of locks tells."""

from __future__ import annotations

from ..model.evidence.blocked import Blocked
from ..model.process import ProcessRef
from .case import Case


def keeps_others_out(case: Case, holder: ProcessRef) -> bool:
    """Whether all that its peers want of it is a file lock, in whose queue they stand, and no rank is among those who are kept
    waiting: so it is with a leader and those who stand by to take its place. A lock of a database is no place to keep."""
    root = case.graph.root(holder)
    direct = [wait.waiter for wait in case.graph.to(holder)]
    queue = [ref for ref in direct if _in_its_queue(case, ref, holder)]
    minds = {member.process.parent for member in map(case.by_ref.get, (holder, *queue)) if member is not None}
    waiters = root.waiters if root is not None and not root.ranks else ()
    return bool(queue) and all(ref in queue or ref.pid in minds for ref in waiters) and bool(waiters)


def _in_its_queue(case: Case, waiter: ProcessRef, holder: ProcessRef) -> bool:
    """Whether one member waits in the kernel for a file lock of another one."""
    member = case.by_ref.get(waiter)
    blocked = member.latest(Blocked) if member is not None and waiter.host == holder.host else None
    return any(holder.pid in lock.holders and not lock.asked for lock in (blocked.locks if blocked else ()))
