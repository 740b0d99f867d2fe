"""On which descriptors, children and file locks the threads of a process wait, from their system calls (proc(5)).

The arguments of poll lie in the process's memory and are read from there; those of epoll are in its fdinfo.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import re
import struct
from collections.abc import Iterator

from ...memory import maps
from ...model.evidence.blocked import Blocked, BlockedCall, HeldLock
from ...model.evidence.threads import KernelThread, Threads
from .. import caller, procfs
from ..collector import Collector, Target, Touch
from ..syscalls import EPOLL, NAMES, ON_FIRST_FD, POLL, QUEUES

_INODE = re.compile(rb"^ino:\s*(\d+)", re.MULTILINE)
MUTEX = struct.Struct("<iIiIi")  # the first words of ``struct __pthread_mutex_s`` (nptl, 64-bit machines)
MUTEX_KINDS = 3  # normal, recursive, error checking, adaptive: the bits above them say what else it is
_MOST_USERS = 4096
_MAX_PATH = 4096
_MAX_FDS = 64
_MAX_FILES = 1024
_MAX_PROCESSES = 4096
_MAX_CALLERS = 64
_SET_AND_WAIT = (7, 38)  # F_SETLKW, F_OFD_SETLKW (linux/fcntl.h)
_LOCK_KINDS = {"flock": "FLOCK", "fcntl": "POSIX"}
_FUTEX_PRIVATE = 0x80  # glibc sets it but for objects that processes share, as multiprocessing's locks are
_FUTEX_COMMAND = 0x7F  # without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME (futex(2))


def collect(target: Target) -> Blocked | None:
    kernel = target.seen.get("threads")
    if not isinstance(kernel, Threads):
        return None
    callers = _Callers(target, kernel)
    found = (_call(target, task, callers) for task in kernel.threads if task.syscall)
    calls = tuple(call for call in found if call is not None)
    locks = _file_locks(target, kernel) or _asked(target, kernel)
    return Blocked(calls, locks) if calls or locks else None


def _call(target: Target, task: KernelThread, callers: _Callers) -> BlockedCall | None:
    number, *args = task.syscall
    name = NAMES.get(number)
    if name is None:
        return None
    if name in ON_FIRST_FD:
        return BlockedCall(task.tid, name, (args[0],), timed=name in QUEUES and bool(args[4]))
    if name in POLL:
        return BlockedCall(task.tid, name, _polled(target, args[0], args[1]), timed=_timed(name, args))
    if name in ("select", "pselect6"):
        return BlockedCall(task.tid, name, _selected(target, args), timed=bool(args[4]))
    if name in EPOLL:
        return BlockedCall(task.tid, name, procfs.epolled(target.path, args[0], _MAX_FDS), timed=args[3] < 1 << 31)
    if name == "futex":
        timed = bool(args[3]) and args[1] & _FUTEX_COMMAND in (0, 9)
        shared = not args[1] & _FUTEX_PRIVATE
        owner, library = _mutex_owner(target, args[0], shared), "" if timed else callers.library(task)
        return BlockedCall(task.tid, name, address=args[0], timed=timed, shared=shared, owner=owner, library=library)
    if name in ("wait4", "waitid"):
        pid = args[0] if name == "wait4" else (args[1] if args[0] == 1 else 0)
        return BlockedCall(task.tid, name, child=pid if 0 < pid < 1 << 31 else 0)
    if name == "openat" and task.wchan.startswith("wait_for_partner"):
        return BlockedCall(task.tid, name, opens=_text(target, args[1]), writes=args[2] & os.O_ACCMODE == os.O_WRONLY)
    return BlockedCall(task.tid, name, timed=name in ("nanosleep", "clock_nanosleep"))


def _text(target: Target, address: int) -> str:
    """A path in the memory of a process, as far as its page reaches; empty where it does not end there."""
    raw, end, _ = _memory(target, address, min(_MAX_PATH, -address % mmap.PAGESIZE or mmap.PAGESIZE)).partition(b"\0")
    return raw.decode("utf-8", "replace") if end else ""


def _timed(name: str, args: list[int]) -> bool:
    return bool(args[2]) if name == "ppoll" else args[2] < 1 << 31


def _polled(target: Target, address: int, count: int) -> tuple[int, ...]:
    """The descriptors of a ``struct pollfd`` array (poll(2))."""
    if not 0 < count <= _MAX_FDS:
        return ()
    raw = _memory(target, address, 8 * count)
    return tuple(fd for fd, _, _ in struct.iter_unpack("<ihh", raw[: len(raw) // 8 * 8]) if fd >= 0)


def _selected(target: Target, args: list[int]) -> tuple[int, ...]:
    """The descriptors of the sets of select(2), little-endian words of bits; the kernel works on copies of them."""
    count = args[0]
    if not 0 < count <= _MAX_FDS:
        return ()
    sets = [int.from_bytes(_memory(target, address, (count + 7) // 8), "little") for address in args[1:4] if address]
    return tuple(fd for fd in range(count) if any(bits >> fd & 1 for bits in sets))


def _mutex_owner(target: Target, address: int, shared: bool) -> int:
    """The owner of a contended glibc mutex: ``{int lock; unsigned count; int owner; unsigned nusers; int kind; …}``, lock 2 when
    somebody waits (nptl, ``struct __pthread_mutex_s``). Anything else that is a futex has no such word, so a living thread of
    this process must bear it. A forked child has a copy of its parent's mutexes: there the owner may be a thread of the parent,
    also one that has ended since; of a mutex that processes share, any thread."""
    raw = _memory(target, address, MUTEX.size)
    if len(raw) < MUTEX.size:
        return 0
    words: tuple[int, ...] = MUTEX.unpack(raw)
    lock, _, owner, users, kind = words
    if lock != 2 or not 0 < owner < 1 << 22:
        return 0
    pid, parent = target.process.ref.pid, target.process.parent
    near = any(os.path.exists(f"{target.proc}/{one}/task/{owner}/stat") for one in (pid, parent))
    if near or (shared and os.path.exists(f"{target.proc}/{owner}/stat")):
        return owner
    kernel = target.seen.get("threads")
    # A thread that was started before the fork has a number between the two.
    copied = isinstance(kernel, Threads) and kernel.forked and not shared and parent < owner < pid
    return owner if copied and 0 < users < _MOST_USERS and 0 <= kind <= MUTEX_KINDS else 0


class _Callers:
    """Who called the kernel, for the main thread and those that bear its name: libraries give names to most of their helpers,
    and Python, before 3.14, none to its threads. Read once per lock, and where the code lies once per look."""

    def __init__(self, target: Target, kernel: Threads) -> None:
        self._target = target
        pid = target.process.ref.pid
        name = next((task.comm for task in kernel.threads if task.tid == pid), None)
        alike = [task.tid for task in kernel.threads if task.comm == name and task.tid != pid]
        self._asked = {pid, *alike[:_MAX_CALLERS]}
        before = target.before.calls if isinstance(target.before, Blocked) else ()
        self._before = {(one.tid, one.address): one.library for one in before if one.call == "futex"}

    @functools.cached_property
    def _code(self) -> tuple[maps.Mapping, ...]:
        return caller.code(self._target.proc, self._target.process.ref.pid)

    def library(self, task: KernelThread) -> str:
        """The library from which a thread called the kernel, empty for those not asked about."""
        if task.tid not in self._asked:
            return ""
        earlier = self._before.get((task.tid, task.syscall[1]))
        if earlier is not None:
            return earlier
        try:
            fields = procfs.read(f"{self._target.path}/task/{task.tid}/syscall", 512).split()
        except OSError:
            return ""
        if len(fields) != 9 or int(fields[1], 16) != task.syscall[1]:
            return ""  # it has left the call that was seen
        return caller.library(
            self._code, lambda at, size: _memory(self._target, at, size), int(fields[7], 16), int(fields[8], 16)
        )


def _memory(target: Target, address: int, size: int) -> bytes:
    try:
        handle = os.open(f"{target.path}/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(handle, size, address)
    except (OSError, OverflowError):
        return b""
    finally:
        os.close(handle)


def _may_wait_for_lock(task: KernelThread) -> bool:
    """By its wait channel; to those who may not see that one, the list of locks is open all the same."""
    hidden = not task.wchan and not task.syscall and task.state == "S"
    return hidden or any(word in task.wchan for word in ("lock", "setlk"))


def _file_locks(target: Target, kernel: Threads) -> tuple[HeldLock, ...]:
    """Locks of /proc/locks that a thread of this process waits for, with their holders."""
    pid = target.process.ref.pid
    if not any(map(_may_wait_for_lock, kernel.threads)):
        return ()
    mine = {pid, *(task.tid for task in kernel.threads)}
    asked = _asked_for(target, kernel)
    holders: dict[str, tuple[str, int, str]] = {}
    found = []
    for line in procfs.read(f"{target.proc}/locks", 1 << 20).decode("ascii", "replace").splitlines():
        number, *fields = line.split()
        waiting = fields[:1] == ["->"]
        kind, _, _, owner, inode = (fields[1:] if waiting else fields)[:5]
        if not waiting:
            holders[number] = (kind, int(owner), inode)
        elif number in holders and (int(owner) in mine or (int(owner) == -1 and _inode(inode) in asked)):
            held, taker, _ = holders[number]
            keepers = _keepers(target, held, taker, inode)
            first = next(iter(keepers), 0)
            found.append(HeldLock(pid, kind, _path(target, inode), keepers, _comm(target, first),
                                  holder_halted=_halted(target, first), inherited=_left(target, taker, keepers)))  # fmt: skip
    return tuple(dict.fromkeys(found)) or tuple(_unlisted(target, kernel))


def _unlisted(target: Target, kernel: Threads) -> Iterator[HeldLock]:
    """Locks that threads wait for and the kernel does not list here: it leaves out those whose holder is in another pid
    namespace (locks_show in fs/locks.c), and knows none that a file server keeps for another host."""
    for task in kernel.threads:
        name = NAMES.get(task.syscall[0], "") if task.syscall else ""
        asks = name == "flock" or (name == "fcntl" and task.syscall[2] in _SET_AND_WAIT)
        if asks and "lock" in task.wchan:
            with contextlib.suppress(OSError):
                path = procfs.link(f"{target.path}/fd/{task.syscall[1]}")
                yield HeldLock(target.process.ref.pid, _LOCK_KINDS[name], path, ())


def _asked_for(target: Target, kernel: Threads) -> set[int]:
    """Inodes of the files on which threads stand in fcntl: a lock of an open file description names no process (fcntl(2))."""
    found: set[int] = set()
    for task in kernel.threads:
        if task.syscall and NAMES.get(task.syscall[0]) == "fcntl":
            try:
                found.update(map(int, _INODE.findall(procfs.read(f"{target.path}/fdinfo/{task.syscall[1]}", 4096))))
            except OSError:
                continue
    return found


def _inode(device_inode: str) -> int:
    return int(device_inode.rsplit(":", 1)[-1])


def _keepers(target: Target, kind: str, taker: int, device_inode: str) -> tuple[int, ...]:
    """Who holds a lock: its taker; where that has ended, has closed the file or is not told, those that have the open file,
    to which such locks belong (flock(2), fcntl(2)). The kernel shows the lock beside such a descriptor in fdinfo (proc(5))."""
    inode = device_inode.rsplit(":", 1)[-1].encode()
    mark = re.compile(rb"^lock:.*:" + re.escape(inode) + rb"\s", re.MULTILINE)
    # A lock of fcntl is its process's own, and goes with the first descriptor of the file that it closes.
    lives = os.path.exists(f"{target.proc}/{taker}/stat")
    if lives and (kind == "POSIX" or _has(f"{target.proc}/{taker}/fdinfo", mark)):
        return (taker,)
    found = [pid for pid in procfs.pids(target.proc)[:_MAX_PROCESSES] if _bears(f"{target.proc}/{pid}/fdinfo", mark)]
    return tuple(found) or ((taker,) if taker > 0 else ())  # 0 is a process of another pid namespace, -1 an open file


def _left(target: Target, taker: int, keepers: tuple[int, ...]) -> bool:
    """Whether the process that took a lock has ended, or closed the file that others keep open; 0 is one of another pid
    namespace, -1 an open file."""
    return taker > 0 and (taker not in keepers or not os.path.exists(f"{target.proc}/{taker}/stat"))


def _has(folder: str, mark: re.Pattern[bytes]) -> bool:
    """Whether a process has the lock still, as far as we may see."""
    return not os.access(folder, os.R_OK | os.X_OK) or _bears(folder, mark)


def _bears(folder: str, mark: re.Pattern[bytes]) -> bool:
    try:
        return any(mark.search(procfs.read(f"{folder}/{fd}", 4096)) for fd in os.listdir(folder)[:_MAX_FILES])
    except OSError:
        return False  # not ours to see, or gone


def _asked(target: Target, kernel: Threads) -> tuple[HeldLock, ...]:
    """Files that this process has open, and another one has locked for writing, while the main thread takes a nap: programs
    that never wait in the kernel (SQLite) ask again and again. Locks of flock(2) are left out, since children inherit them."""
    pid = target.process.ref.pid
    if not any(task.tid == pid and "nanosleep" in task.wchan for task in kernel.threads):
        return ()
    held = {}
    for line in procfs.read(f"{target.proc}/locks", 1 << 20).decode("ascii", "replace").splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[1] == "POSIX" and fields[3] == "WRITE" and int(fields[4]) not in (pid, -1):
            held[int(fields[5].rsplit(":", 1)[-1])] = fields
    found = []
    for inode, path in _open_inodes(target) if held else ():
        if inode in held:
            holder = int(held[inode][4])
            found.append(HeldLock(pid, "POSIX", path, (holder,), _comm(target, holder), asked=True))
    return tuple(dict.fromkeys(found))


def _open_inodes(target: Target) -> Iterator[tuple[int, str]]:
    """Inode and path of each open file, without touching the file: fdinfo tells the inode since Linux 5.14 (proc(5))."""
    for fd in os.listdir(f"{target.path}/fd")[:_MAX_FILES]:
        try:
            found = _INODE.search(procfs.read(f"{target.path}/fdinfo/{fd}", 4096))
            path = procfs.link(f"{target.path}/fd/{fd}") if found else ""
        except OSError:
            continue
        if found:
            yield int(found.group(1)), path


def _halted(target: Target, pid: int) -> str:
    """How a holder is kept from going on, as far as we may see."""
    try:
        state = procfs.stat(target.proc, pid).state
    except (OSError, ValueError, IndexError):
        return ""
    return "stopped" if state in ("T", "t") else "frozen" if procfs.frozen(f"{target.proc}/{pid}") else ""


def _comm(target: Target, pid: int) -> str:
    try:
        return procfs.stat(target.proc, pid).comm
    except (OSError, ValueError, IndexError):
        return ""


def _path(target: Target, device_inode: str) -> str:
    """The open file of this process with that inode; else the inode itself."""
    inode = _inode(device_inode)
    known = dict(_open_inodes(target))
    if known:
        return known.get(inode, f"inode {device_inode}")
    try:
        fds = os.listdir(f"{target.path}/fd")
    except OSError:
        fds = []
    for fd in fds:
        link = f"{target.path}/fd/{fd}"
        try:
            if os.stat(link).st_ino == inode:
                return procfs.link(link)
        except OSError:
            continue
    return f"inode {device_inode}"


COLLECTOR = Collector("blocked", Touch.PASSIVE, 2.0, collect, order=12)
