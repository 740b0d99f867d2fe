"""Who has taken a lock that processes share and a thread waits for: of a lock of ``multiprocessing`` each process that shares it
counts what it took itself; a mutex of the C library names its owner.

The lock is a semaphore of one in a file of /dev/shm (sem_overview(7)), which the kernel says who maps; the semaphore itself knows
no owner. Only where a thread waits in one without a time limit, the processes of its user are looked through.
"""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from ...memory import maps, semaphores
from ...memory.source import ProcessMemory, Unreadable
from ...model.evidence.blocked import Blocked, BlockedCall
from ...model.evidence.shared_locks import SharedLock, SharedLocks
from ...model.evidence.threads import Threads
from .. import procfs
from ..collector import Collector, Target, Touch
from .blocked import MUTEX, MUTEX_KINDS

_FILES = "/dev/shm/sem."  # noqa: S108
_VALUE = struct.Struct("<I")  # on which those who wait sleep (glibc, sysdeps/nptl/internaltypes.h, struct new_sem)
_AWAITED = 2  # lll_lock of nptl: taken, and somebody may wait
_SHARED = 128  # PTHREAD_MUTEX_PSHARED_BIT
_MOST_PIDS = 1 << 22  # PID_MAX_LIMIT (linux/threads.h)
_MAX_PROCESSES = 4096
_MAX_SHARERS = 256


class _Sharer(NamedTuple):
    """A process that maps a semaphore, and where."""

    pid: int
    address: int


class _Taken(NamedTuple):
    """Who has taken a lock, how many processes share it, and whether the count of each was read."""

    holders: tuple[int, ...]
    sharers: int
    all_told: bool


def collect(target: Target) -> SharedLocks | None:
    blocked = target.seen.get("blocked")
    calls = blocked.calls if isinstance(blocked, Blocked) else ()
    asleep = [call for call in calls if call.call == "futex" and call.shared and not call.timed and not call.owner]
    mine = _mapped(target.proc, target.process.ref.pid) if asleep else ()
    found = tuple(lock for call in asleep if (lock := _lock(target, call, mine)) is not None)
    return SharedLocks(found) if found else None


def _lock(target: Target, call: BlockedCall, mine: tuple[maps.Mapping, ...]) -> SharedLock | None:
    owner = _dead_owner(target, call.address)
    if owner:
        return SharedLock(call.tid, call.address, 0, all_told=True, owner=owner)
    file = next((one for one in mine if one.start <= call.address < one.end), None)
    taken = _taken(target, file, call.address - file.start) if file is not None else None
    return SharedLock(call.tid, call.address, file.inode, *taken) if file is not None and taken is not None else None


def _dead_owner(target: Target, address: int) -> int:
    """The owner of a mutex of the C library that processes share, where that thread has ended: ``struct __pthread_mutex_s``
    (``{int lock; unsigned count; int owner; unsigned nusers; int kind; ...}`` on 64-bit machines). The kind says that it is
    shared and not robust; the lock is 2 where somebody waits. Numbers of another pid namespace mean nothing here."""
    threads = target.seen.get("threads")
    if not isinstance(threads, Threads) or threads.ns_pid is not None:
        return 0
    try:
        with ProcessMemory(target.proc, target.process.ref.pid) as memory:
            lock, _, owner, _, kind = MUTEX.unpack(memory.read(address, MUTEX.size))
    except (OSError, Unreadable):
        return 0
    shared = kind & ~MUTEX_KINDS == _SHARED
    dead = 0 < owner < _MOST_PIDS and not os.path.exists(f"{target.proc}/{owner}/stat")
    return owner if lock == _AWAITED and shared and dead else 0


def _mapped(proc: str, pid: int) -> tuple[maps.Mapping, ...]:
    """The semaphores that a process maps; raise OSError where we may not see that."""
    lines = [line for line in maps.read(proc, pid).splitlines() if _FILES.encode() in line]
    return tuple(one for one in maps.parse(b"\n".join(lines)) if one.path.startswith(_FILES))


def _taken(target: Target, file: maps.Mapping, offset: int) -> _Taken | None:
    """Who has taken this lock; None where it is none, or is free. Neighbours that wait for the same one are told the same."""
    known = target.shelf.setdefault(f"{file.device} {file.inode}", [])
    if not known:
        sharers, all_seen = _sharers(target, file, offset)
        known.append(_asked(target.proc, sharers, all_seen) if _is_zero(target, file.start + offset) else None)
    return known[0]  # type: ignore[no-any-return]


def _is_zero(target: Target, address: int) -> bool:
    with ProcessMemory(target.proc, target.process.ref.pid) as memory:
        return _VALUE.unpack(memory.read(address, _VALUE.size)) == (0,)


def _sharers(target: Target, file: maps.Mapping, offset: int) -> tuple[list[_Sharer], bool]:
    """The processes of the same user or session that map a semaphore, and whether all that may were seen."""
    found: list[_Sharer] = []
    hidden: list[int] = []
    parents: dict[int, int] = {}
    user, session = os.stat(target.path).st_uid, procfs.stat(target.proc, target.process.ref.pid).session
    for pid in procfs.pids(target.proc)[:_MAX_PROCESSES]:
        near = False
        try:
            stat = procfs.stat(target.proc, pid)
            parents[pid], near = stat.parent, stat.session == session
            mapped = _mapped(target.proc, pid) if near or os.stat(f"{target.proc}/{pid}").st_uid == user else ()
        except PermissionError:
            hidden += [pid] if near else []
            continue
        except OSError:
            continue  # gone meanwhile
        found += [_Sharer(pid, one.start + offset) for one in mapped if one.identity == file.identity]
    sharers = {one.pid for one in found}
    all_seen = len(found) <= _MAX_SHARERS and not any(_of_family(pid, sharers, parents) for pid in hidden)
    return found[:_MAX_SHARERS], all_seen


def _of_family(pid: int, sharers: set[int], parents: dict[int, int]) -> bool:
    """Whether a process of the session that we may not look into could share a lock of ``multiprocessing``, as another user by
    now: who does was started by one of the others. It comes from one of them, has the parent of one, or is that parent; who
    stands further above does not share what a process between them has not."""
    starters = sharers | {parents.get(one, 0) for one in sharers}
    line = [pid]
    while parents.get(line[-1], 0) not in (0, *line):
        line.append(parents[line[-1]])
    return not starters.isdisjoint(line[:2]) or not sharers.isdisjoint(line)


def _asked(proc: str, sharers: list[_Sharer], all_seen: bool) -> _Taken | None:
    """What the sharers of a semaphore count; None where it is no lock, which one at most may have.

    Who gave back what another one took counts below zero: then nobody's count tells who has it now.
    """
    counts = dict(_counts(proc, sharers))
    if not counts or any(one.most != 1 for one in counts.values()):
        return None
    holders = tuple(pid for pid, one in counts.items() if one.taken > 0)
    clear = len(holders) <= 1 and all(one.taken >= 0 for one in counts.values())
    return _Taken(holders if clear else (), len(sharers), clear and all_seen and len(counts) == len(sharers))


def _counts(proc: str, sharers: list[_Sharer]) -> Iterator[tuple[int, semaphores.Count]]:
    near: dict[int, None] = {}
    for pid, address in sharers:
        try:
            with ProcessMemory(proc, pid, 2 * semaphores.BYTES_LIMIT) as memory:
                found = semaphores.count(memory, functools.partial(_map, proc, pid), address, near)
        except (OSError, Unreadable):
            continue
        if found is not None:
            near[found.address] = None
            yield pid, found


def _map(proc: str, pid: int) -> tuple[maps.Mapping, ...]:
    return tuple(maps.parse(maps.read(proc, pid)))


COLLECTOR = Collector("shared-locks", Touch.PASSIVE, 4.0, collect, every_sweep=False, order=13)
