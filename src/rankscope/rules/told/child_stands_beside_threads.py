"""A forked child does not run in code of its own, and its parent, which waits for it, keeps threads.

## What it means
fork(2) copies one thread. A lock that another thread of the parent held at that moment stays taken in the child, where nobody
is left who would give it back. At `with lock:` py-spy and faulthandler show the function that asks for the lock, and no frame
below it.

## How it is recognised
The child's stack goes on from that of its parent through multiprocessing's `popen_fork`, it is idle, and its innermost frame is
the job's own code. The parent waits for it, and has a thread that is none of multiprocessing's. Nothing says that it is a lock
it waits for: a sleep, or a read in native code, looks the same.
Or the parent, wherever it stands, has a thread that began in the very file in which the child is idle, and the child has none:
it sends what a client collects, or empties a buffer. Likely where the function is called as one that takes a lock.
Or that thread came from elsewhere into the very file of a library in which the child is idle: both go by its locks.

## What to do
`py-spy dump --native --pid CHILD` names the wait: `PyThread_acquire_lock` or `sem_wait` is the lock.
`multiprocessing.set_start_method("spawn")`, or `"forkserver"`, which is the default since Python 3.14.

## How to prevent it
Start processes before threads; `os.register_at_fork` for locks that have to be there in both. Mechanism:
https://docs.python.org/3/library/os.html#os.fork (its warning of 3.12), https://github.com/python/cpython/issues/50970
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, Seen, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.identity import module_path_of, name_of
from ...analysis.main_thread import main_thread
from ...model.diagnosis import Certainty, Finding
from ...model.evidence.stacks import Stack
from ...model.patterns import regex
from .. import make_rule
from ._findings import members, simple
from ._signs import LIKELY, POSSIBLE

_FORKED = "multiprocessing/popen_fork.py"
# Their threads serve the children, and hold no lock that a child asks for.
_SERVES = ("multiprocessing/", "concurrent/futures/process.py")
_AGAINST = ("a sleep, or a read in native code, looks the same",)
_STEPS = (
    "py-spy dump --native --pid CHILD   # PyThread_acquire_lock or sem_wait: a lock copied by the fork",
    "multiprocessing.set_start_method('spawn')   # or 'forkserver'",
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    # A dump that was cut off behind the head of a thread shows where nobody stands.
    mains = [(one, main) for one in accounts(case) if (main := main_thread(one)) is not None and main.stack]
    for child, main in mains:
        beside = next(_beside_its_keeper(case, child, main, mains), None)
        if beside is not None:
            yield beside
        if beside is not None or not _stands(main):
            continue
        for parent, waiting in mains:
            thread = _thread_beside(parent, waiting) if _is_parent(waiting, main) else None
            if thread is not None:
                yield _finding(case, child, parent, main, thread)


def _beside_its_keeper(case: Case, child: Account, main: Seen, mains: list[tuple[Account, Seen]]) -> Iterator[Finding]:
    """A child of one thread that is idle in a file in which a thread of its parent is at home: what that keeps or lets go of
    (a buffer's lock, a queue, a connection) is there in the child, and the thread is not. Servers do not wait for their
    workers, and children that a pool makes anew come from wherever the parent stood."""
    leaf = main.stack[-1]
    if not _is_forked(main.stack) or main.thread.active is not False or len({one.thread.tid for one in child.seen}) > 1:
        return
    if wait_of(main.stack).kind not in (WaitKind.USER, WaitKind.LIBRARY, WaitKind.LOCK) or leaf.library is not None:
        return
    for parent, waiting in mains:
        if parent is child or not _came_from(main.stack, waiting.stack):
            continue
        others = [one for one in parent.seen if one is not waiting and one.thread is not waiting.thread]
        keeper = next((one for one in others if _at_home(one.stack) == leaf.file), None)
        if keeper is not None:
            named = _LOCKS.search(leaf.function) is not None
            yield _finding(case, child, parent, main, keeper, LIKELY if named else POSSIBLE)
            return
        user = next((one for one in others if _goes_by_its_locks(one.stack, main.stack)), None)
        if user is not None:
            yield _finding(case, child, parent, main, user)
            return


_LOCKS = regex(r"acquire|(?:^|_)[rw]?lock(?:ed)?$|mutex|^__enter__$", re.IGNORECASE)


def _goes_by_its_locks(stack: Stack, child: Stack) -> bool:
    """Whether a thread is inside the file of a library in which a child is idle, elsewhere in it. Two that are in one function
    may both wait for a server or a device, and who reads or sends waits for its peer."""
    leaf = child[-1]
    if wait_of(child).kind is not WaitKind.LIBRARY and not _LOCKS.search(leaf.function):
        return False
    here = {one.function for one in stack if one.file == leaf.file}
    return bool(here) and not here & {one.function for one in child} and not _EXCHANGES.search(leaf.function)


_EXCHANGES = regex(
    r"read|recv|receive|send|write|flush|poll|wait|select|connect|accept|request|fetch|sleep", re.IGNORECASE
)


def _at_home(stack: Stack) -> str:
    """The file in which a thread of Python began, "" for the main thread."""
    began = next((at for at, one in enumerate(stack) if module_path_of(one) not in _BEGINS), 0)
    return stack[began].file if began else ""


_BEGINS = ("threading.py", "concurrent/futures/thread.py")


_FORK_FILES = (_FORKED, "billiard/popen_fork.py", "multiprocess/popen_fork.py")
_FORKS = {
    ("gunicorn/arbiter.py", "spawn_worker"),
    ("tornado/process.py", "fork_processes"),
    ("rq/worker.py", "fork_work_horse"),
}


def _came_from(child: Stack, parent: Stack) -> bool:
    """Whether a child bears frames of a process further out than its own life begins: it is a copy of it."""
    begins = next(
        (at for at, one in enumerate(child) if name_of(one) in _FORKS or module_path_of(one) in _FORK_FILES), 0
    )
    mine = {name_of(one) for one in child[:begins] if not module_path_of(one).startswith("multiprocessing/")}
    theirs = {name_of(one) for one in parent}
    return not _is_forked(parent) and not mine.isdisjoint(theirs)


def _is_forked(stack: Stack) -> bool:
    return any(module_path_of(one) in _FORK_FILES or name_of(one) in _FORKS for one in stack)


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


def _finding(
    case: Case, child: Account, parent: Account, main: Seen, thread: Seen, sure: Certainty = POSSIBLE
) -> Finding:
    leaf = main.stack[-1]
    because = (
        f"{_name(child)} was forked, and is idle at {leaf.function} ({module_path_of(leaf)}:{leaf.line})",
        f"{_name(parent)}, from which it came, has a thread of its own: {thread.thread.name or thread.thread.tid}",
    )
    title = f"{_name(child)} was forked from a process with threads, and does not run"
    processes = (*members(case, child), *members(case, parent))
    against = _AGAINST if sure is POSSIBLE else ()
    found = simple(RULE, title, sure, because, _STEPS, child.ranks, against=against, processes=processes)
    return replace(found, compared=True)


def _name(account: Account) -> str:
    return account.refs[0].spoken if len(account.refs) == 1 else account.label


RULE = make_rule(__name__, __doc__, "fork-with-threads", 39, check)
