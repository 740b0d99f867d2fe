"""Two looks at one thread, compared from the outside in: has a loop turned, does a number grow?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..model.evidence.stacks import PythonThread, Stack
from ..model.patterns import regex
from .frame_tables import WaitKind
from .frames import kind_of, wait_of
from .identity import birth, own
from .origin import module_path

# What programs call a number that says how often or how long they have asked in vain.
_ATTEMPTS = regex(
    r"_+$|attempt|retr(?:y|ies)|tr(?:y|ies)(?:_|$)|wait|poll|elapsed|timeout|tick|spin|sleep|(?:^|_)ms$", re.I
)


def turned(looks: Sequence[PythonThread]) -> bool:
    """Whether it went on to another function, or a loop above the innermost frame has turned."""
    if len(looks) < 2:
        return False
    first, last = looks[0], looks[-1]
    return _functions(first) != _functions(last) or _outer_locals(first) != _outer_locals(last)


def counts(first: PythonThread, last: PythonThread, computing: bool) -> bool:
    """Whether a whole-number local of the innermost frame has grown; a count of attempts only where it may be one.

    Of a thread that computes a changed one is enough: its numbers are made anew while they are read, so that one may be seen
    with the value of another. What does not change is never made anew.
    """
    innermost = len(last.stack) - 1
    before = {local.name: local.number for local in first.locals if local.depth == innermost}
    return len(first.stack) == len(last.stack) and any(
        local.depth == innermost
        and (now := local.number) is not None
        and (then := before.get(local.name)) is not None
        and min(now, then) >= 0
        and (now > then or (computing and now != then))
        and (computing or not _ATTEMPTS.search(local.name))
        for local in last.locals
    )


def goes_round(looks: Sequence[PythonThread], depth: int) -> bool:
    """Whether it was met at all looks below the same functions down to a depth, with the same values in these, but for what may
    be a count of attempts."""
    shown = {tuple((frame.file, frame.function) for frame in one.stack[: depth + 1]) for one in looks}
    values = {tuple((local.depth, local.name, local.value) for local in one.locals
                    if local.depth <= depth and not _ATTEMPTS.search(local.name)) for one in looks}  # fmt: skip
    return len(looks) > 1 and len(shown) == 1 and len(values) == 1


def _own_depths(thread: PythonThread) -> range:
    return range(birth(thread.stack), len(thread.stack))


def _functions(thread: PythonThread) -> list[tuple[str, str]]:
    return [(thread.stack[i].file, thread.stack[i].function) for i in _own_depths(thread)]


def _outer_locals(thread: PythonThread) -> list[tuple[int, str, str]]:
    start = birth(thread.stack)
    inner = start + _asked_from(own(thread.stack))
    return [(local.depth, local.name, local.value) for local in thread.locals if start <= local.depth < inner]


# Where the standard library waits, mostly with a time limit.
_RESTS = {
    "threading.py", "queue.py", "selectors.py", "multiprocessing/queues.py", "multiprocessing/connection.py",
}  # fmt: skip


def _asked_from(stack: Stack) -> int:
    """The innermost frame; of who waits for a loader, where the loader's own loop begins: it asks its queue again and again
    with a limit, and keeps in its locals that it did so in vain (torch/utils/data/dataloader.py, ``_try_get_data``)."""
    wait, last = wait_of(stack), Stack(frame for frame in stack if frame.library is None)[-1:]
    if wait.kind is not WaitKind.DATA or not any(module_path(frame.file) in _RESTS for frame in last):
        return len(stack) - 1
    at = wait.index
    while at > 0 and kind_of(stack[at - 1]) is WaitKind.DATA:
        at -= 1
    return at
