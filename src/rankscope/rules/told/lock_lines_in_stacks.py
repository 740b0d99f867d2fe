"""The source lines of stacks show who is inside which lock and who waits at it.

## What it means
A stack with its source (gdb's `py-bt`, a traceback, a debugger's listing) shows `with self.lock:` lines. A thread that is
further in than such a line holds the lock; one whose innermost line it is waits for it. When the holder waits itself, or is
the same thread, nobody goes on.

## How it is recognised
The same lock is the innermost line of one stack and an outer line of another stack that waits, or of the same stack. Or a
pasted listing shows that the innermost frame stands at `with self._lock:` and an outer frame of the same stack inside a
block of that lock; or two threads of one dump do so crosswise, each at the line of the lock whose block the other is in.

## What to do
Let go of the lock before joining, closing, calling back or creating what takes it again; `threading.RLock()` where the same
thread comes back; helper functions with the suffix `_locked` that expect the lock to be held.

## How to prevent it
Short `with` blocks that call nothing foreign. Mechanism:
https://github.com/snowflakedb/snowflake-connector-python/issues/2213, https://github.com/stampchain-io/btc_stamps/pull/868
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.evidence.stacks import Frame, Stack
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding, members
from ._listed_locks import LINES, TAKES_LOCK, blocks_in, is_of
from ._signs import Hit, Sign

_FRAME = regex(r'^[\s|+]*File "(?P<file>[^"]+)", line [\d?]+(?:,? in (?P<name>\S+))?')
# The queues' own locks: idle workers stand there.
_IDLE = regex(r"_?[rw]lock$|not_empty|_notempty|_tstate_lock|shutdown_lock$|_block$|^lock$|^waiter$", re.I)
_TAKES = {"acquire", "__enter__", "_acquire", "_acquireLock", "_acquire_restore", "lock"}
_STEPS = (
    "py-spy dump --locals --pid PID   # both stacks and the locks' names",
    "threading.Lock() -> threading.RLock()",
)
_SHOWN = {"text.line", "text.source"}


@dataclass(frozen=True)
class Stand:
    """One stack's locks: what it waits at (name, file), and what its outer lines are inside of."""

    account: Account
    wanted: tuple[str, str] | None
    held: tuple[tuple[str, str], ...]
    waits: bool


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return
    if hit := next(_against_each_other(case), None):
        made = finding(
            RULE, case, [hit], "two threads of a process each wait at a lock that the other is inside of", _STEPS
        )
        yield replace(made, processes=tuple(members(case, hit.account))[:16], compared=True)
        return
    found = [*_crossed(case), *_inside_its_own(case)]
    if found:
        yield finding(
            RULE, case, found, "a thread waits at a lock that it, or a thread that waits for it, is inside of", _STEPS
        )


def _crossed(case: Case) -> Iterator[Hit]:
    stands = [stand for account in accounts(case) for stand in _stands(account)]
    for stand in stands:
        for other in stands:
            if other.wanted is not None and other.wanted in stand.held and stand.waits:
                name = other.wanted[0]
                who = "the same thread" if other is stand else "another thread, which waits itself,"
                yield Hit(Sign("", f"{name} is waited for, and {who} is inside of it"), other.account, f"with {name}:")
                return


def _stands(account: Account) -> Iterator[Stand]:
    """The stacks of one subject with their source lines, innermost first."""
    lines = [event.text for event in account.events if event.event in _SHOWN][:LINES]
    run: list[tuple[str, str, str]] = []
    first = any("most recent call first" in line for line in lines)
    for line in [*lines, "Thread end"]:
        if found := _FRAME.match(line):
            run.append((found["file"], found["name"] or "", ""))
        elif run and line[:1] in " \t|" and not run[-1][2]:
            run[-1] = (*run[-1][:2], line.strip())
        elif run and not line[:1].isspace():
            yield _stand(account, run if first else run[::-1])
            run = []


def _stand(account: Account, frames: Sequence[tuple[str, str, str]]) -> Stand:
    at = 0
    while at < len(frames) - 1 and frames[at][1] in _TAKES:
        at += 1
    wanted = _lock(frames[at]) if frames else None
    held = tuple(name for frame in frames[at + 1 :] if (name := _lock(frame)) is not None)
    return Stand(account, wanted, held, bool(frames))


def _lock(frame: tuple[str, str, str]) -> tuple[str, str] | None:
    """The lock that a frame's line takes: its name, and the file for names that every class uses."""
    found = TAKES_LOCK.match(frame[2])
    name = (found["name"] or found["call"] or "").rsplit(".", 1)[-1] if found else ""
    if not name or (_IDLE.search(name) and name not in ("_lock",)):
        return None
    return name, frame[0] if name in ("_lock", "_mutex", "mutex", "_cond") else ""


def _against_each_other(case: Case) -> Iterator[Hit]:
    """A listing with numbers: two threads at ``with`` lines of two locks, each below a line inside the other's lock."""
    blocks = {account.label: blocks_in(account) for account in accounts(case)}
    listed = {label: found for label, found in blocks.items() if found}
    for account in accounts(case) if listed else ():
        waiting = [
            one for seen in account.seen if seen.thread.active is not True and (one := _at_a_lock(seen.stack, listed))
        ]
        for (mine, held), (yours, theirs) in itertools.combinations(waiting, 2):
            if mine != yours and mine in theirs and yours in held:
                yield Hit(
                    Sign("", f"one is inside of {yours} and waits for {mine}, the other the reverse"), account, mine
                )


def _at_a_lock(stack: Stack, listed: Mapping[str, Sequence[tuple[str, int, range]]]) -> tuple[str, set[str]] | None:
    """The lock at whose line a stack ends, and those inside of whose blocks its outer frames are, where it ends at one."""
    frames = [frame for frame in reversed(stack) if frame.function not in _TAKES]
    places = [(label, block, frame) for label, found in listed.items() for block in found for frame in frames
              if is_of(label, frame)]  # fmt: skip
    wanted = next(
        (_plain(block[0]) for _, block, frame in places if frame is frames[0] and frame.line == block[1]), None
    )
    held = {_plain(block[0]) for _, block, frame in places if frame is not frames[0] and frame.line in block[2]}
    return (wanted, held) if wanted and held else None


def _plain(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _inside_its_own(case: Case) -> Iterator[Hit]:
    """A listing with numbers: the innermost frame at a ``with`` line, an outer one inside a block of the same lock."""
    blocks = [block for account in accounts(case) for block in blocks_in(account)]
    for account in accounts(case) if blocks else ():
        for stack in account.stacks:
            for name, at, _ in blocks:
                leaf = next((frame for frame in reversed(stack) if frame.function not in _TAKES), None)
                others = [block for block in blocks if block[0] == name]
                if leaf is not None and leaf.line == at and any(
                    frame.line in block[2] and (block[1] != at or _entered_again(frame, leaf))
                    for block in others for frame in stack if frame is not leaf
                ):  # fmt: skip
                    yield Hit(
                        Sign("", f"{name} is taken at line {at} below a line that is inside of it"),
                        account,
                        leaf.function,
                    )
                    return


def _entered_again(frame: Frame, leaf: Frame) -> bool:
    """Whether an outer frame is of the function in which a stack ends."""
    return (frame.function, frame.file) == (leaf.function, leaf.file)


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 32, check)
