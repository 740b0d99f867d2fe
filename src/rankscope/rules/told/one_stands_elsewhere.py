"""One rank stands elsewhere than all the others, which wait in code that no table knows.

## What it means
Ranks that exchange data by means of their own (sockets, files, a message queue, a framework that is not known here) wait for each
other in that code. The one that is not there is the one to look at first: it may hang, or be slow.

## How it is recognised
Saved stacks of three ranks or more: their ways through the program are the same up to one function, from which all but one went
into the same call. A note, and no cause: in what the others wait is not known, nor for how long. Where they stand in a
collective, other rules compare them.

## What to do
Look at the line of that rank, and at its children and threads. The same stacks a minute later tell whether it moves; `rankscope
diagnose` on the running job sees who is connected with whom.

## How to prevent it
Time-outs on what a rank does alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks
from ...analysis.frame_tables import WaitKind
from ...analysis.main_thread import main_thread
from ...analysis.origin import module_path
from ...model.diagnosis import Finding, Kind
from ...model.evidence.stacks import Frame, Stack
from ...model.process import Role
from ...model.words import counted
from .. import make_rule
from ._findings import members, simple
from ._signs import POSSIBLE

_FEWEST = 3
_KNOWN = (WaitKind.COLLECTIVE, WaitKind.BACKWARD, WaitKind.P2P, WaitKind.RENDEZVOUS, WaitKind.STORE, WaitKind.DATA)
_STEPS = ("the same stacks once more, a minute later, of all ranks",)


def check(case: Case) -> Iterator[Finding]:
    placed = [] if case.snapshot.live else list(_placed(case))
    if len(placed) < _FEWEST or in_kind([one for one, _ in placed], *(kind.value for kind in _KNOWN)):
        return
    common = _common([stack for _, stack in placed])
    parted: dict[tuple[str, str], list[tuple[Doing, Stack]]] = {}
    for one, stack in placed:
        parted.setdefault(_key(stack[common]) if len(stack) > common else ("", ""), []).append((one, stack))
    if not common or len(parted) != 2:
        return
    (odd, *more), others = sorted(parted.values(), key=len)
    if more or len(others) < 2:
        return
    doing, stack = odd
    ranks = f"the other {counted(len(others), 'rank')}"
    title = f"rank {doing.ranks} stands in {_at(stack, common)}, {ranks} in {_at(others[0][1], common)}"
    because = [one.site for one in (doing, others[0][0])]
    processes = members(case, doing.account) if doing.account else ()
    yield simple(RULE, title, POSSIBLE, because, _STEPS, doing.ranks, Kind.NOTE, processes=processes)


def _placed(case: Case) -> Iterator[tuple[Doing, Stack]]:
    """Each rank that stands, with the stack of its main thread."""
    for one in doings(case):
        account = one.account if of_ranks(one) and len(one.ranks) == 1 else None
        main = main_thread(account) if account and account.role is not Role.DATALOADER_WORKER else None
        if main is not None and not main.thread.active:
            yield one, Stack(frame for frame in main.stack if frame.library is None and frame.file)


def _common(stacks: list[Stack]) -> int:
    """How many functions all of them went through, from the outermost."""
    same = 0
    for level in zip(*stacks):
        if len(set(map(_key, level))) > 1:
            break
        same += 1
    return same


def _key(frame: Frame) -> tuple[str, str]:
    return frame.function, frame.file


def _at(stack: Stack, common: int) -> str:
    """Into what it went where ways part, and from which line."""
    caller = stack[common - 1]
    line = f"{module_path(caller.file)}:{caller.line}"
    return f"{stack[common].function}, called at {line}" if len(stack) > common else f"{caller.function} ({line})"


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 96, check)
