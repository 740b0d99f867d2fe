"""Which thread of a subject does its work, by the stacks that were seen."""

from __future__ import annotations

import re

from ..model.patterns import regex
from ..model.repeated import found_in
from .accounts import Account, Seen
from .frame_tables import STRENGTH
from .frames import plain_name, wait_of


def main_thread(account: Account) -> Seen | None:
    """The thread that does the work: the main one, else the one that says most, else the first; its last moment."""
    if not account.seen:
        return None
    latest = max(seen.moment for seen in account.seen)
    now = [seen for seen in account.seen if seen.moment == latest] or list(account.seen)
    return _below(_working(account, now), now)


def _working(account: Account, now: list[Seen]) -> Seen:
    named = [seen for seen in now if seen.thread.name and found_in(seen.thread.name, _MAIN)]
    if named:  # a thread of which a dump was taken with native frames and another without: the one that says more
        same = [seen for seen in named if named[0].thread.tid in (None, seen.thread.tid) or seen.thread.tid is None]
        return max(same, key=lambda seen: STRENGTH.get(wait_of(seen.stack).kind, 0))
    for seen in now:
        if account.refs and seen.thread.tid == account.refs[0].pid:
            return seen
    first = (seen for seen in now if (_started_first(seen) if seen.native else _runs_program(seen)))
    return next(first, now[0])


_MAIN = regex("main", re.I)

# What the system calls in the first thread of a process (glibc's csu/libc-start.c, musl), and Python's own entry.
_FIRST = {
    "_start", "__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl", "libc_start_main", "Py_BytesMain",
    "Py_Main",
}  # fmt: skip


def _started_first(seen: Seen) -> bool:
    """Whether a native stack is that of a process's first thread: gdb lists it last, and says of none that it is the main one."""
    return any(plain_name(frame.function).split("@")[0] in _FIRST for frame in seen.stack[:3])


def _runs_program(seen: Seen) -> bool:
    """Whether a stack goes out from the program itself; faulthandler names no thread, and tells the newest ones first."""
    return bool(seen.stack) and seen.stack[0].function in _PROGRAM


_PROGRAM = {"<module>", "_run_module_as_main"}


def _below(main: Seen, now: list[Seen]) -> Seen:
    """The native view of a thread of which both were written down, where that says more."""
    for seen in now:
        same = seen.native and not main.native and (seen.thread.tid, seen.thread.name) == _identity(main)
        if same and STRENGTH.get(wait_of(seen.stack).kind, 0) > STRENGTH.get(wait_of(main.stack).kind, 0):
            return seen
    return main


def _identity(seen: Seen) -> tuple[int | None, str | None]:
    return seen.thread.tid, seen.thread.name
