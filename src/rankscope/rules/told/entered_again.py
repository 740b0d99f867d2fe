"""A function waits at its lock below a call of itself that is still inside that lock.

## What it means
Code that holds a plain `Lock` called something that came back: a finalizer or weak-reference callback that the
collector ran, a signal handler, a hook of a tracer or profiler, an observer, a log record about the log. The second
call waits for the first, which is further out in the same stack.

## How it is recognised
The innermost frame is a function that stands in the same stack once more, and there at a later line than now: the
second call is still at the line that takes the lock, the first is already behind it. Python frames do not show the
lock itself, so this holds without native frames too. In native stacks: a function that a signal interrupted (`malloc`, `free`,
`fprintf`), in which the handler, or the exit handlers that it calls, wait.

## What to do
Read what lies between the two frames: that is what must not run under the lock. `threading.RLock()` in place of
`Lock()`; finalizers and handlers that only put a note into a `collections.deque` or `queue.SimpleQueue`; callbacks
after the `with` block. `gc.disable()` proves it where the collector is between.

## How to prevent it
No foreign code under a lock; no locks in `__del__`, `weakref.finalize` and signal handlers. Mechanism:
https://github.com/DataDog/dd-trace-py/pull/4108, https://github.com/LMCache/LMCache/pull/4675,
https://peps.python.org/pep-0556/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import kind_of
from ...analysis.origin import Origin, origin
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Frame, Stack
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, POSSIBLE, Hit, Sign

# What runs in the middle of other code, by the names people give it.
_CALLED_BACK = regex(
    r"__del__|finali[sz]|weakref|dealloc|<lambda>|callback|_cb$|^on_|hook|handler|signal|sigterm|sigint|notify|observer|listener|"
    r"atexit|collect|garbage|trace|profile|audit|excepthook|emit|evict|__exit__|^release|^close|^remove|^reset|^pop",
    re.IGNORECASE,
)
_FINALIZES = regex(
    r"\b__del__\b|weakref\.py|Garbage-collecting|_weakrefset\.py|signal_?handler|<signal handler", re.IGNORECASE
)
# Functions that call themselves as their work: trees, nested modules, wrappers, retries.
_RECURSIVE = regex(
    r"^(?:_call_impl|_wrapped_call_impl|__call__|forward|wrapper|inner|wrapped|decorate_context|_fn|_apply|apply|walk|"
    r"_walk|visit\w*|generic_visit|"
    r"tree_\w+|_?map\w*|_?flatten\w*|recurse\w*|\w*recursive\w*|dump\w*|_?iterencode\w*|encode|decode|save\w*|load\w*|"
    r"copy|deepcopy|_deepcopy\w*|_reconstruct|"
    r"build\w*|from_cfg|<genexpr>|<listcomp>|<dictcomp>|<lambda>|<module>|__getattr__|_call_with_frames_removed|"
    r"_find_and_load\w*|_handle_fromlist|"
    r"exec_module|_load_unlocked|import_\w+|_gcd_import|run|_run|main|invoke|parse\w*|compile\w*|send|dispatch\w*|handle\w*|retry\w*|solve\w*|fit|step)$"
)
_SIGNALLED = "<signal handler called>"
_NEAR = 4  # frames of an allocator or of stdio: what the signal interrupted is among the innermost
_STEPS = (
    "py-spy dump --locals --pid PID   # which lock, and what called back",
    "threading.Lock() -> threading.RLock()",
)


def check(case: Case) -> Iterator[Finding]:
    found = [] if case.snapshot.live else list(_again(case))
    if found:
        yield finding(RULE, case, found, "a function waits for a lock below its own call that holds it", _STEPS)


def _again(case: Case) -> Iterator[Hit]:
    for account in accounts(case):
        working = {id(seen.stack) for seen in account.seen if seen.thread.active}
        for stack in account.stacks:
            name = entered_again(stack) or _came_back(stack) or _interrupted(stack)
            if name and id(stack) not in working:
                called_back, function = name
                says = f"{function} is entered below itself, while its first call is not over"
                yield Hit(Sign("", says, LIKELY if called_back else POSSIBLE), account, function)
                break


def entered_again(stack: Stack) -> tuple[bool, str] | None:
    """The innermost function when the same stack shows it further on, and whether something called back in between."""
    at = _innermost(stack)
    if at < 1 or _RECURSIVE.match(stack[at].function) or not stack[at].line:
        return None
    leaf = stack[at]
    for outer in range(at - 1, -1, -1):
        if (stack[outer].function, stack[outer].file) == (leaf.function, leaf.file):
            between = stack[outer + 1 : at]
            strangers = [frame for frame in between if frame.file != leaf.file]
            if stack[outer].line <= leaf.line or not strangers:
                return None
            return any(_CALLED_BACK.search(f"{frame.function} {frame.file}") for frame in between), leaf.function
    return None


def _came_back(stack: Stack) -> tuple[bool, str] | None:
    """The innermost function where a finalizer brought a thread back into the file it was in."""
    at = _innermost(stack)
    for finalizer in range(at - 1, max(at - 4, 0), -1):
        if _FINALIZES.search(f"{stack[finalizer].function} {stack[finalizer].file}") and at > 0:
            outer = stack[finalizer - 1]
            same = (outer.file, outer.function) != (stack[at].file, stack[at].function) and outer.file == stack[at].file
            return (True, stack[at].function) if same and _plain(outer) else None
    return None


def _interrupted(stack: Stack) -> tuple[bool, str] | None:
    """The function that a signal interrupted, where its handler came back to it and waits in it: gdb writes a frame of its own
    between the two."""
    at = max((place for place, frame in enumerate(stack) if _SIGNALLED in frame.function), default=0)
    before = {frame.function for frame in stack[max(at - _NEAR, 0) : at]}
    again = next((frame.function for frame in stack[at + 1 :] if frame.function in before), None)
    waits = kind_of(stack[-1]) in (WaitKind.LOCK, WaitKind.CONDITION, WaitKind.SLEEP) if stack else False
    return (True, again) if again is not None and waits else None


def _innermost(stack: Stack) -> int:
    """The innermost frame of a package or program, when nothing but a lock is further in; -1 where something else is."""
    for at in range(len(stack) - 1, -1, -1):
        if _plain(stack[at]):
            return at
        if kind_of(stack[at]) not in (WaitKind.LOCK, WaitKind.CONDITION, None):
            return -1
    return -1


def _plain(frame: Frame) -> bool:
    return bool(frame.file) and frame.library is None and origin(frame) in (Origin.USER, Origin.LIBRARY)


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 32, check)
