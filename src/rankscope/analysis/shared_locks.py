"""Which lock that processes share the thread waits for by which a process is judged, and who has what it asks for."""

from __future__ import annotations

from ..model.evidence.blocked import Blocked
from ..model.evidence.shared_locks import SharedLock, SharedLocks
from .callers import call_of
from .identity import name_of
from .standing import Standing

# The room of a queue is a semaphore as well: who puts an item takes it, and whoever gets the item gives it back.
_ROOM = ("multiprocessing/queues.py", "put")


def wanted(standing: Standing) -> SharedLock | None:
    """The lock that its deciding thread waits for, None where that is none."""
    found = standing.member.latest(SharedLocks)
    call = call_of(standing) if found is not None else None
    if found is None or call is None or not standing.own_stack or name_of(standing.own_stack[-1]) == _ROOM:
        return None
    return next((lock for lock in found.locks if (lock.tid, lock.address) == (call.tid, call.address)), None)


def keepers(standing: Standing) -> set[int]:
    """The processes of its host that have the locks which it waits or asks for: of files, and of ``multiprocessing``."""
    blocked, shared = standing.member.latest(Blocked), wanted(standing)
    pids = {pid for lock in (blocked.locks if blocked else ()) for pid in lock.holders}
    return pids.union(shared.holders if shared is not None else ())
