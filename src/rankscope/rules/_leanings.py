"""What leans to a cause without deciding it: rows of words and frames with points for the causes that they go with.

One row proves nothing: a fork, a lock and a library with threads are in many healthy programs. Where the evidence is of a
trouble that no other rule knows, their sum says which cause to look at first.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..analysis.account import line_at
from ..analysis.accounts import Account, accounts
from ..analysis.case import Case
from ..analysis.doings import Doing, doings, of_ranks
from ..analysis.needles import Haystack

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
        found = hay.search(row.pattern)
        if found is None or any(hay.search(pattern) for pattern in row.unless):
            continue
        if all(hay.search(pattern) for pattern in row.also):
            yield Shown(row, line_at(hay.text, found.start()))


def total(found: Iterable[Shown]) -> Points:
    """The points of each cause."""
    return sum((one.lean.points for one in found), Counter())


def facts(case: Case) -> tuple[str, ...]:
    """What is seen rather than read, in words that rows can ask for: ``@apart``, ``@waits lock``, ``@one-thread``."""
    found: tuple[str, ...] | None = case.__dict__.get("_facts")
    if found is None:
        found = case.__dict__["_facts"] = tuple(dict.fromkeys(_facts(case)))
    return found


def _facts(case: Case) -> Iterator[str]:
    told = doings(case)
    for doing in told:
        yield f"@{'rank' if of_ranks(doing) else 'somebody'}-{doing.kind}"
    stacks = [doing for doing in told if doing.account is not None and doing.account.stacks]
    yield f"@stacks-{min(len(stacks), 3)}"
    yield from _compared([doing for doing in stacks if of_ranks(doing)])
    for account in accounts(case):
        yield from _threads(account)


def _compared(stacks: list[Doing]) -> Iterator[str]:
    """Whether the ranks whose stacks were seen stand in one place."""
    if len(stacks) > 1:
        yield "@alike" if len({doing.site for doing in stacks}) == 1 else "@apart"


def _threads(account: Account) -> Iterator[str]:
    """How many threads of a process were seen."""
    latest = max((seen.moment for seen in account.seen), default=0)
    now = {seen.thread.tid or number for number, seen in enumerate(account.seen) if seen.moment == latest}
    native = any(seen.native and len(seen.stack) >= _NATIVE_WAITS for seen in account.seen)
    if native and len(now) == 1:
        yield "@one-thread"
    elif len(now) > 1:
        yield "@threads"
