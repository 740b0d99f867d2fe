"""Pasted code joins a thread inside a lock that this thread takes.

## What it means
`stop()` takes the lock, tells the thread to end, and waits for it inside of the `with` block. The thread wants the same lock
for its next round: it cannot end, and the lock is not let go. A lock that may be entered again (`RLock`) does not help, since
the two are different threads.

## How it is recognised
In the code that was saved a `join()` without a limit stands in a block `with …lock:`, and the function that a thread runs
(`run` of a `Thread`, a `target=`) takes the lock of that name; somebody says that it hangs, or had to interrupt it.

## What to do
Leave the block before the join: set the flag under the lock, join outside of it. `py-spy dump --pid PID` shows one thread in
`join` and the other at the lock.

## How to prevent it
No `join`, `result` or callback inside `with lock:`. Mechanism: https://github.com/Textualize/rich/issues/927
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...analysis.pasted_code import Line
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import LIKELY, Hit, Sign
from ._wordings import HALTS

_STEPS = (
    "py-spy dump --pid PID   # one thread joins, the other waits for the lock",
    "leave the block of the lock before join()",
)
_ENTERS = regex(r"with (?P<name>[\w.]{0,80}(?:lock|mutex|cond(?:ition)?)\w{0,20})(?: as \w+)? ?:\s*$", re.IGNORECASE)
_JOINS = regex(r"(?P<thread>[\w.]{1,80})\.join\(\)")
_DEFINES = regex(r"(?:async )?def (?P<name>\w{1,80})\b")
_TARGET = regex(r"\btarget ?= ?(?:[\w.]{1,80}\.)?(?P<name>\w{1,80})\b")
_INTERRUPTED = r"|\^C|KeyboardInterrupt|\bCtrl-?\+?C\b"


@dataclass(frozen=True)
class _Block:
    """A ``with`` block of a lock: the lock's own name, the function in which it stands, and its lines."""

    lock: str
    function: str
    lines: tuple[str, ...]


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live or not any(one.find(HALTS + _INTERRUPTED) for one in accounts(case)):
        return
    if found := list(_joined(case)):
        yield finding(RULE, case, found[:1], "a thread is joined inside a lock that it takes itself", _STEPS)


def _joined(case: Case) -> Iterator[Hit]:
    told = [(one, block) for one in accounts(case) for block in _blocks(one.code)]
    threads = {"run"} | {found["name"] for one in accounts(case) for found in _TARGET.finditer(one.said)}
    taken = {block.lock for _, block in told if block.function in threads}
    for account, block in told:
        joins = next((line for line in block.lines if _JOINS.match(line)), None)
        if joins is not None and block.lock in taken and block.function not in threads:
            yield _hit(account, block, joins)


def _hit(account: Account, block: _Block, joins: str) -> Hit:
    says = f"{block.function or 'a function'} joins a thread inside of {block.lock}, which the thread takes"
    return Hit(Sign("", says, LIKELY), account, joins)


def _blocks(lines: Sequence[Line]) -> Iterator[_Block]:
    """The blocks of locks in a piece of code."""
    functions: list[Line] = []
    for at, line in enumerate(lines):
        functions = [one for one in functions if one.depth < line.depth]
        if _DEFINES.match(line.text):
            functions.append(line)
        elif found := _ENTERS.match(line.text):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].depth <= line.depth), len(lines))
            named = _DEFINES.match(functions[-1].text) if functions else None
            inside = tuple(one.text for one in lines[at + 1 : end])
            yield _Block(found["name"].rsplit(".", 1)[-1], named["name"] if named else "", inside)


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 34, check)
