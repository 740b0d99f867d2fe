"""A forked child does not run in code of its own, and its parent, which waits for it, keeps threads.

## What it means
fork(2) copies one thread. A lock that another thread of the parent held at that moment stays taken in the child, where nobody
is left who would give it back. At `with lock:` py-spy and faulthandler show the function that asks for the lock, and no frame
below it.

## How it is recognised
The child's stack goes on from that of its parent through multiprocessing's `popen_fork`, it is idle, and its innermost frame is
the job's own code. The parent waits for it, and has a thread that is none of multiprocessing's. Nothing says that it is a lock
it waits for: a sleep, or a read in native code, looks the same.

## What to do
`py-spy dump --native --pid CHILD` names the wait: `PyThread_acquire_lock` or `sem_wait` is the lock.
`multiprocessing.set_start_method("spawn")`, or `"forkserver"`, which is the default since Python 3.14.

## How to prevent it
Start processes before threads; `os.register_at_fork` for locks that have to be there in both. Mechanism:
https://docs.python.org/3/library/os.html#os.fork (its warning of 3.12), https://github.com/python/cpython/issues/50970
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, Seen, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.identity import module_path_of
from ...analysis.main_thread import main_thread
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Stack
from .. import make_rule
from ._findings import members, simple
from ._signs import POSSIBLE

_FORKED = "multiprocessing/popen_fork.py"
# Their threads serve the children, and hold no lock that a child asks for.
_SERVES = ("multiprocessing/", "concurrent/futures/process.py")
_AGAINST = ("a sleep, or a read in native code, looks the same",)
_STEPS = (
    "py-spy dump --native --pid CHILD   # PyThread_acquire_lock or sem_wait: a lock copied by the fork",
    "multiprocessing.set_start_method('spawn')   # or 'forkserver'",
)


def check(case: Case) -> Iterator[Finding]:
    mains = (
        () if case.snapshot.live else [(one, main) for one in accounts(case) if (main := main_thread(one)) is not None]
    )
    for child, main in mains:
        if not _stands(main):
            continue
        for parent, waiting in mains:
            thread = _thread_beside(parent, waiting) if _is_parent(waiting, main) else None
            if thread is not None:
                yield _finding(case, child, parent, main, thread)


def _stands(main: Seen) -> bool:
    """Whether it was forked, and is idle in code of its own."""
    forked = any(module_path_of(frame) == _FORKED for frame in main.stack)
    return forked and main.thread.active is False and wait_of(main.stack).kind is WaitKind.USER


def _is_parent(waiting: Seen, child: Seen) -> bool:
    """Whether it waits for a child, and is where the child came from."""
    return (
        wait_of(waiting.stack).kind is WaitKind.CHILD and _origin(waiting.stack) == _origin(child.stack)
        and not any(module_path_of(frame) == _FORKED for frame in waiting.stack[:-3])
    )  # fmt: skip


def _origin(stack: Stack) -> tuple[str, str]:
    return stack[0].function, stack[0].file


def _thread_beside(parent: Account, main: Seen) -> Seen | None:
    """A thread of it that does not serve its children."""
    return next(
        (one for one in parent.seen if one.thread is not main.thread and not one.native and not _serves(one)), None
    )


def _serves(seen: Seen) -> bool:
    return any(module_path_of(frame).startswith(_SERVES) for frame in seen.stack)


def _finding(case: Case, child: Account, parent: Account, main: Seen, thread: Seen) -> Finding:
    leaf = main.stack[-1]
    because = (
        f"{_name(child)} was forked, and is idle at {leaf.function} ({module_path_of(leaf)}:{leaf.line})",
        f"{_name(parent)}, which waits for it, has a thread of its own: {thread.thread.name or thread.thread.tid}",
    )
    title = f"{_name(child)} was forked from a process with threads, and does not run"
    processes = (*members(case, child), *members(case, parent))
    found = simple(RULE, title, POSSIBLE, because, _STEPS, child.ranks, against=_AGAINST, processes=processes)
    return replace(found, compared=True)


def _name(account: Account) -> str:
    return account.refs[0].spoken if len(account.refs) == 1 else account.label


RULE = make_rule(__name__, __doc__, "fork-with-threads", 39, check)
