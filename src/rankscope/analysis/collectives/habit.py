"""Does a rank still do what it did in every step before?

Programs repeat themselves, so a call that is left out or added shows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from ...model.ring import Call
from .ranks import RankView

_NEWEST = 1024
_MARKS = 6
_FEWEST = 4


@dataclass(frozen=True)
class Habit:
    """``usual`` is the call that a rank would have made by its habit where it left it, ``made`` the one it made instead;
    both are None while it keeps it."""

    usual: Call | None = None
    made: Call | None = None


def habit(view: RankView) -> Habit | None:
    """What a rank's ring shows of its habit; None where none is to be seen."""
    calls = view.ring.calls[-_NEWEST:]
    found = left_at([(call.group, call.op, call.peer, call.closes_batch) for call in calls])
    if found is None or view.only_active:
        return None
    at, period = found
    return Habit(calls[at - period], calls[at]) if at < len(calls) else Habit()


def left_at(row: Sequence[Hashable]) -> tuple[int, int] | None:
    """Where a row stops repeating itself (its length: never) and its period; None when most of it was not seen to repeat.

    What repeats within a step only (layers, microbatches) is too short to count.
    """
    best = (0, 0, 0)
    for period in sorted(_periods(row)):
        for start, end in _stretches(row, period):
            if end - start < max(period, len(row) // 3, _FEWEST):
                continue
            if end == len(row):
                return end, period
            if len(row) - end <= 2 * period:
                best = max(best, (end - start, end, period))
    return best[1:] if best[0] else None


def _periods(row: Sequence[Hashable]) -> set[int]:
    """Distances between the places of what is rare in the row: once a step, most often."""
    places: dict[Hashable, list[int]] = {}
    for at, key in enumerate(row):
        places.setdefault(key, []).append(at)
    rare = sorted((found for found in places.values() if len(found) > 1), key=len)[:_MARKS]
    return {b - a for found in rare for step in (1, 2) for a, b in zip(found, found[step:])}


def _stretches(row: Sequence[Hashable], period: int) -> Iterator[tuple[int, int]]:
    """Where each call equals the one a period before: (start, end) of each such part, its first period not counted."""
    start = period
    for at in range(period, len(row)):
        if row[at] != row[at - period]:
            if at > start:
                yield start, at
            start = at + 1
    if len(row) > start:
        yield start, len(row)
