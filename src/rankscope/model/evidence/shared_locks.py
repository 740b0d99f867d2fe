"""Locks of ``multiprocessing`` that threads wait for, and who has taken them."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class SharedLock:
    """One lock that several processes share and one of them has taken, and the thread ``tid`` that waits for it without a limit.

    ``address`` is where it sleeps, ``inode`` that of the semaphore, the same in every process. ``holders`` are the pids whose
    own count says that they took it; ``sharers`` is in how many living processes it lies. ``all_told`` tells whether the count
    of each of these was read: then a lock without a holder was taken by somebody who is gone. ``owner`` is the thread that a
    mutex of the C library in shared memory names as its owner, and which has ended; 0 where it is none.
    """

    tid: int
    address: int
    inode: int
    holders: tuple[int, ...] = ()
    sharers: int = 0
    all_told: bool = False
    owner: int = 0


@evidence("shared-locks")
@dataclass(frozen=True)
class SharedLocks:
    """The locks of ``multiprocessing`` that threads of one process wait for."""

    locks: tuple[SharedLock, ...]
