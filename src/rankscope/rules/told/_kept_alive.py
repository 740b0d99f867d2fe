"""Who keeps a program alive that is at its end: the threads and children that it waits for, and whether anybody feeds these."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import Account, Seen, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import wait_of
from ...analysis.identity import name_of
from ...analysis.main_thread import main_thread
from ...analysis.origin import module_path
from ...model.evidence.stacks import Stack
from ._forks import CHILD_FRAMES


def kept_by(case: Case) -> list[Seen]:
    """The threads and children for which a program waits at its end, where it does nothing else."""
    return [one for account in accounts(case) for one in _awaited(case, account)]


def nobody_feeds(case: Case) -> bool:
    """Whether those for whom a program waits at its end wait themselves, for what only it or one of them could bring them, and
    nobody of them is at work: the program is over, and brings nothing any more."""
    kept = [account for account in accounts(case) if _awaited(case, account)]
    awaited = [one for account in kept for one in _awaited(case, account)]
    everybody = [one for account in kept for one in account.seen if one.stack]
    return bool(awaited) and all(map(_waits_to_be_fed, awaited)) and all(map(_rests, everybody))


def _awaited(case: Case, account: Account) -> list[Seen]:
    return _threads(account) or _executors(account) or list(_children(case, account))


_FED = (WaitKind.QUEUE, WaitKind.CONDITION, WaitKind.PIPE, WaitKind.IDLE)


def _waits_to_be_fed(seen: Seen) -> bool:
    return wait_of(seen.stack).kind in _FED and seen.thread.active is not True


_AT_REST = (*_FED, WaitKind.EXIT, WaitKind.CHILD, WaitKind.SLEEP)


def _rests(seen: Seen) -> bool:
    """Whether a thread of the program waits for others of it, or for the clock."""
    return wait_of(seen.stack).kind in _AT_REST and seen.thread.active is not True


def _threads(account: Account) -> list[Seen]:
    """The threads for which the interpreter waits at its end; of two views of them Python's."""
    for native in (False, True):
        mine = [one for one in account.seen if one.native is native and one.stack]
        threads = [one for one in mine if _began_as_thread(one.stack) and (native or wait_of(one.stack).user >= 0)]
        if threads and any(_joins_at_exit(one.stack, native) for one in mine):
            return threads
    return []


def _joins_at_exit(stack: Stack, native: bool) -> bool:
    """Whether a thread stands in the interpreter's own wait for threads, and in nothing that is called at the end."""
    if native:
        names = {frame.function for frame in stack}
        return "wait_for_thread_shutdown" in names and "atexit_callfuncs" not in names
    return stack[0].function.endswith("_shutdown") and all(module_path(frame.file) == _THREADING for frame in stack)


_THREADING = "threading.py"
_BEGUN = {"thread_run", "t_bootstrap"}  # Modules/_threadmodule.c


def _began_as_thread(stack: Stack) -> bool:
    return stack[0].function.endswith("_bootstrap") or any(frame.function in _BEGUN for frame in stack)


# Who joins the threads of an executor at the end: asyncio.run(), and the interpreter itself (concurrent.futures).
_ENDS_EXECUTOR = {("asyncio/base_events.py", "_do_shutdown"), ("concurrent/futures/thread.py", "_python_exit")}
_WORKER = ("concurrent/futures/thread.py", "_worker")


def _executors(account: Account) -> list[Seen]:
    """The threads of an executor that is joined at the end, with code of the job at hand."""
    mine = [one for one in account.seen if one.stack and not one.native]
    if not any(_joins(one.stack) and _ENDS_EXECUTOR.intersection(map(name_of, one.stack)) for one in mine):
        return []
    return [one for one in mine if _WORKER in map(name_of, one.stack) and wait_of(one.stack).user >= 0]


def _joins(stack: Stack) -> bool:
    return module_path(stack[-1].file) == _THREADING and any(name == "join" for _, name in map(name_of, stack[-2:]))


def _children(case: Case, account: Account) -> Iterator[Seen]:
    """The children that multiprocessing joins at the end of a program, by the thread that does their work."""
    if not any(_joins_children(one.stack) for one in account.seen):
        return
    for child in accounts(case):
        main = main_thread(child)
        if child is not account and main is not None and child.find(CHILD_FRAMES):
            yield main


def _joins_children(stack: Stack) -> bool:
    names = [name_of(frame) for frame in stack]
    return ("multiprocessing/util.py", "_exit_function") in names and ("multiprocessing/process.py", "join") in names
