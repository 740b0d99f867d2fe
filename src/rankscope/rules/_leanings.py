"""What leans to a cause without deciding it: rows of words and frames with points for the causes that they go with.

One row proves nothing: a fork, a lock and a library with threads are in many healthy programs. Where the evidence is of a
trouble that no other rule knows, their sum says which cause to look at first.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..analysis.account import line_at
from ..analysis.accounts import Account, accounts
from ..analysis.case import Case
from ..analysis.doings import Doing, doings, of_ranks
from ..analysis.frame_tables import Kind
from ..analysis.frames import wait_of
from ..analysis.needles import Haystack, compiled
from ..analysis.prints_missing import stops_before_a_print
from ..model.evidence.stacks import Stack
from .calls_counted import in_several_groups

Points = Counter[str]
_NATIVE_WAITS = 2  # frames of one thread that are enough to call it a stack


@dataclass(frozen=True)
class Lean:
    """A row: ``to`` names causes with their points (``"dead-rank 2 oom-kill 1"``), and all of ``also`` must be there too."""

    to: str
    pattern: str
    says: str
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    @functools.cached_property
    def points(self) -> Points:
        words = self.to.split()
        return Counter({cls: int(number) for cls, number in zip(words[::2], words[1::2])})


@dataclass(frozen=True)
class Shown:
    """A row that is there, and the line that shows it."""

    lean: Lean
    line: str


def shown(case: Case, rows: Iterable[Lean]) -> Iterator[Shown]:
    """The rows that the evidence shows, each once."""
    hay = Haystack("\n\n".join([*facts(case), *(account.text for account in accounts(case))]))
    for row in rows:
        found = _asserted(hay, row.pattern)
        if found is None or any(hay.search(pattern) for pattern in row.unless):
            continue
        if all(hay.search(pattern) for pattern in row.also):
            yield Shown(row, line_at(hay.text, found.start()))


def _asserted(hay: Haystack, pattern: str) -> re.Match[str] | None:
    """The first place that shows a pattern and does not deny it: ``no Xid`` is none."""
    found = hay.search(pattern)
    if found is None or not _DENIED.search(hay.text, max(0, found.start() - _BEFORE), found.start()):
        return found
    others = compiled(pattern).finditer(hay.text, found.end())
    return next(
        (one for one in others if not _DENIED.search(hay.text, max(0, one.start() - _BEFORE), one.start())), None
    )


_BEFORE = 24  # letters in which a denial stands
_DENIED = re.compile(r"\b(?:no|not?|without|neither|nor|zero|isn't|aren't|nothing in)\s(?:\w+ ){0,2}$", re.I)


def total(found: Iterable[Shown]) -> Points:
    """The points of each cause."""
    return sum((one.lean.points for one in found), Counter())


def facts(case: Case) -> tuple[str, ...]:
    """What is seen rather than read, in words that rows can ask for.

    ``@apart`` and ``@alike`` compare ranks; ``@rank-lock`` and ``@somebody-lock`` are of stacks; ``@told-dead``, of a rank,
    and ``@said-dead`` of sentences.
    """
    found: tuple[str, ...] | None = case.__dict__.get("_facts")
    if found is None:
        found = case.__dict__["_facts"] = tuple(dict.fromkeys(_facts(case)))
    return found


def _facts(case: Case) -> Iterator[str]:
    told = doings(case)
    stacks = [doing for doing in told if doing.account is not None and doing.account.stacks]
    for doing in told:
        who = ("rank", "somebody") if doing in stacks else ("told", "said")
        yield f"@{who[0] if of_ranks(doing) else who[1]}-{doing.kind}"
    yield f"@stacks-{min(len(stacks), 3)}"
    yield from _compared([doing for doing in stacks if of_ranks(doing)])
    for account in accounts(case):
        yield from _threads(account)
        if any(_imports(stack) for stack in account.stacks):
            yield "@imports-and-waits"
    if in_several_groups(case):
        yield "@several-groups"
    if stops_before_a_print(case):
        yield "@stuck-before-a-print"


def _compared(stacks: list[Doing]) -> Iterator[str]:
    """Whether the ranks whose stacks were seen stand in one place."""
    if len(stacks) > 1:
        yield "@alike" if len({doing.site for doing in stacks}) == 1 else "@apart"


def _imports(stack: Stack) -> bool:
    """Whether a module that another one imports waits for a thread or a process while it is being imported."""
    inner = [at for at, frame in enumerate(stack) if frame.function == "<module>"][1:]
    waits = (Kind.CHILD, Kind.CONDITION, Kind.LOCK, Kind.QUEUE)
    return (
        bool(inner)
        and wait_of(stack).kind in waits
        and not any(frame.function == "main" for frame in stack[inner[-1] :])
    )


def _threads(account: Account) -> Iterator[str]:
    """How many threads of a process were seen."""
    latest = max((seen.moment for seen in account.seen), default=0)
    now = {seen.thread.tid or number for number, seen in enumerate(account.seen) if seen.moment == latest}
    native = any(seen.native and len(seen.stack) >= _NATIVE_WAITS for seen in account.seen)
    if native and len(now) == 1 and account.find(_ALL_THREADS):
        yield "@one-thread"
    elif len(now) > 1:
        yield "@threads"


# Who asked a debugger for all threads, or the kernel, got no more than these.
_ALL_THREADS = (
    r"thread apply all|info threads|^Threads:\s+1\b|\b(?:single|one|1|exactly one) thread\b(?! per)|"
    r"bt all|eu-stack|gstack|pstack"
)
