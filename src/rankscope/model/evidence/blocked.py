"""System calls that threads wait in, and on which descriptors."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class BlockedCall:
    """One thread inside a system call. ``fds`` are the descriptors it waits on (several for poll and epoll).

    ``address`` is the futex word, 0 for other calls; ``timed`` says that the kernel will wake it by itself.
    ``opens`` is the FIFO whose other side nobody has opened yet, as the program calls it, and ``writes`` whether to write to it.
    ``owner`` is the tid that holds the pthread mutex behind the futex, perhaps one that has ended; 0 where none is known.
    """

    tid: int
    call: str
    fds: tuple[int, ...] = ()
    address: int = 0
    timed: bool = False
    child: int = 0  # the pid that wait4 or waitid asks for, 0 for any
    library: str = ""  # the file whose code called the kernel, of a thread in a futex that bears the main one's name
    shared: bool = False  # the futex word may be waited for and woken from other processes
    opens: str = ""
    writes: bool = False
    owner: int = 0


@dataclass(frozen=True)
class HeldLock:
    """A file lock somebody waits for (/proc/locks): its kind, the file, and who holds it, nobody where that cannot be seen here.

    ``asked`` says that nobody waits for it in the kernel: the process has the file open and pauses, as one that polls;
    ``inherited`` that whoever took it has ended, or closed the file, and the holders have its open file from there.
    """

    tid: int
    kind: str
    path: str
    holders: tuple[int, ...]
    holder_name: str = ""  # what the first holder runs
    asked: bool = False
    holder_halted: str = ""  # how the first holder is kept from going on: stopped, frozen; empty where it may run
    inherited: bool = False


@evidence("blocked")
@dataclass(frozen=True)
class Blocked:
    """Where the threads of one process wait in the kernel."""

    calls: tuple[BlockedCall, ...]
    locks: tuple[HeldLock, ...] = ()
