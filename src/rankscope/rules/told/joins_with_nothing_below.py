"""The program is over: its main thread only joins threads or children, with no line of the program below.

## What it means
When the last line has run, the interpreter waits for every thread that is not a daemon (`threading._shutdown`), for
executors, and for children of `multiprocessing`. A thread that waits for work or for an event nobody sets keeps the
process for ever.

## How it is recognised
The main thread's stack consists of the interpreter's own modules alone (`join`, `_wait_for_tstate_lock`, `_shutdown`,
`_python_exit`, `_exit_function`), without `<module>` or any function of the program; the thread that is joined idles
in a wait.

## What to do
Name the threads that are left: `py-spy dump --pid PID`. Shut their owner down explicitly (`executor.shutdown()`,
`client.close()`, `writer.close()`), make them daemons, or give their wait an end.

## How to prevent it
`with` around executors and clients; `threading.Thread(daemon=True)` for helpers; no clean-up that rests on the
garbage collector. Mechanism: https://github.com/rohanpm/more-executors/issues/176
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import kind_of, wait_of
from ...analysis.origin import Origin, module_path, origin
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Stack
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, POSSIBLE, Hit, Sign

_THREAD_ROOTS = {"_bootstrap", "_bootstrap_inner", "run", "_worker", "_feed", "_handle_workers"}
_STEPS = (
    "py-spy dump --pid PID   # which threads are left",
    "executor.shutdown(); client.close()   # before the end of main",
)


def check(case: Case) -> Iterator[Finding]:
    found = [] if case.snapshot.live else list(_only_joins(case))
    if found:
        title = "the program is over, and its main thread waits for threads that do not end"
        full = any(_into_a_full_queue(hit.account) for hit in found)
        yield replace(finding(RULE, case, found, title, _STEPS), compared=full)


def _only_joins(case: Case) -> Iterator[Hit]:
    for account in accounts(case):
        for stack in account.stacks:
            if joins_alone(stack):
                helper = _idle_helper(account, stack)
                sign = Sign(
                    "", "the main thread joins, with no line of the program below", LIKELY if helper else POSSIBLE
                )
                yield Hit(
                    sign, account, f"the thread that is left stands in {helper}" if helper else stack[-1].function
                )
                break


def _into_a_full_queue(account: Account) -> bool:
    """Whether a thread waits for room in a queue: from whom the main thread waits for nobody takes anything any more."""
    ends = (frame for stack in account.stacks for frame in stack[-2:])
    return any(frame.function == "put" and module_path(frame.file) == "queue.py" for frame in ends)


def joins_alone(stack: Stack) -> bool:
    """Whether a main thread does nothing but join, called by the interpreter itself."""
    if not stack or stack[0].function in _THREAD_ROOTS or wait_of(stack).kind not in (WaitKind.CHILD, WaitKind.EXIT):
        return False
    if any(frame.library is not None or not frame.file for frame in stack):
        return False  # of native frames other rules know more
    own = all(origin(frame) is Origin.STDLIB for frame in stack)
    joins = any(kind_of(frame) is WaitKind.CHILD and module_path(frame.file) == "threading.py" for frame in stack)
    return own and joins


def _idle_helper(account: Account, main: Stack) -> str:
    """The function of the program in which another thread waits, "" where none is shown."""
    for stack in account.stacks:
        if stack is not main and wait_of(stack).kind in (
            WaitKind.CONDITION,
            WaitKind.QUEUE,
            WaitKind.SLEEP,
            WaitKind.SOCKET,
            WaitKind.LOCK,
        ):
            frame = wait_of(stack).user_frame or next(
                (one for one in reversed(stack) if origin(one) is Origin.LIBRARY), None
            )
            if frame is not None:
                return f"{frame.function} ({module_path(frame.file)})"
    return ""


RULE = make_rule(__name__, __doc__, "exit-hang", 47, check)
