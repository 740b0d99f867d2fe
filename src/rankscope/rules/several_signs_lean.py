"""Nothing decides, but several signs lean to one cause.

## What it means
No message, stack or comparison in the evidence shows the cause by itself. Taken together, what is there goes with one cause
more often than with others: it is where to look first, no more.

## How it is recognised
A table of words, frames and outcomes of trials, each with points for the causes that it goes with: a fork and a library with
threads, a setting that helps, shares of data that differ, the end of an epoch. The cause with most points is named, the next
ones are counter-evidence. It speaks only where no other rule names a cause, and is never more than *possible*.

## What to do
Look at it while it hangs; that decides more than any text: `rankscope diagnose` on one of its hosts, or
`py-spy dump --nonblocking --pid N` of every rank and of their children, twice, a minute apart.
`rankscope explain CLASS` says what would show the cause that is named.

## How to prevent it
Keep evidence of the next time: `rankscope snapshot -o job.snap`, `TORCH_FR_BUFFER_SIZE=2000`, `NCCL_DEBUG=WARN`,
`faulthandler.register(signal.SIGUSR1)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..analysis.case import Case
from ..model.classes import CLASSES
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from . import Rule
from ._complaint import complained
from ._leanings import Points, Shown, shown, total
from ._leanings_below import BELOW
from ._leanings_numbers import NUMBERS
from ._leanings_processes import PROCESSES
from ._leanings_ranks import RANKS
from ._leanings_trials import TRIALS
from ._text import rule_id
from .call_missed import ONE_SIDE

_ROWS = (*RANKS, *PROCESSES, *BELOW, *TRIALS, *NUMBERS)
_ENOUGH = 3  # points; one row that others have too is not enough
_SAID, _ALIKE = 2, 1  # what a rule that calls a cause possible is worth, and what resemblance to known cases is
_STEPS = (
    "rankscope diagnose pid:N          # while it hangs, on each of its hosts (or slurm:JOBID, ssh:HOSTS)",
    "py-spy dump --nonblocking --pid N # of every rank and its children, twice; then rankscope analyze DIR",
)


def check(case: Case) -> Iterator[Finding]:
    yield from after(case, [])


def after(case: Case, said: list[Finding]) -> list[Finding]:
    """What others said, behind the cause that most signs lean to, unless more speaks for one that a rule calls possible."""
    causes = [one for one in said if one.kind is Kind.CAUSE]
    if case.snapshot.live or any(one.certainty is not Certainty.POSSIBLE for one in causes) or not complained(case):
        return said
    found = tuple(shown(case, _ROWS))
    points = total(found)
    for one in causes[:1]:
        points[one.cls] += 0 if one.title == ONE_SIDE else _ALIKE if one.rule in _GUESSES else _SAID
    cls, number = max(points.items(), key=lambda item: item[1], default=("", 0))
    if not found or number < _ENOUGH or cls in {one.cls for one in causes[:1] if one.rule not in _GUESSES}:
        return said
    return [_finding(cls, points, found), *(replace(one, kind=Kind.NOTE) if one in causes else one for one in said)]


_GUESSES = ("like-known-cases",)


def _finding(cls: str, points: Points, found: tuple[Shown, ...]) -> Finding:
    mine = sorted((one for one in found if cls in one.lean.points), key=lambda one: -one.lean.points[cls])
    others = ", ".join(f"{name} ({number})" for name, number in points.most_common(4) if name != cls)
    meaning = CLASSES[cls].rstrip(".")
    return Finding(
        rule=RULE.id, cls=cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE,
        title=f"nothing decides; several signs lean to this: {meaning[0].lower()}{meaning[1:]}",
        because=tuple(Reason(f"{one.lean.says}: {one.line[:160]}", "text") for one in mine[:6]),
        against=(f"signs lean to other causes too: {others}",) if others else (),
        next=(*_STEPS, f"rankscope explain {cls}"),
    )  # fmt: skip


RULE = Rule(id=rule_id(__name__), cls="", check=check, page=__doc__ or "", order=1000, after=after)
