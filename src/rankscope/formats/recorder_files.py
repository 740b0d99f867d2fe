"""Which rank, which job and which run a recorder's file belongs to, of all files that were given.

The content says it, or the name. Files are numbered from 1 where they do not fit their own lists of members but would from 0.
Two files of one rank are two moments, unless they are of two runs: then the newer run counts, and of two jobs the larger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..model.evidence.recorder import Recorder
from ..model.gap import Gap, Why
from ..model.patterns import regex
from . import names

_LAST_NUMBER = regex(r"\d+(?=\D*$)")
Ranks = dict[int, list[Recorder]]


@dataclass(frozen=True)
class Dumped:
    """One recorder, the name of its file, and its rank where anything tells."""

    name: str
    recorder: Recorder
    rank: int | None


def ranked(held: list[tuple[str, Recorder]]) -> list[Dumped]:
    """Recorders with their ranks, oldest content first."""
    by_name = _from_zero(names.rank_from_names([name for name, recorder in held if recorder.rank is None]), held)
    made = [Dumped(name, one, one.rank if one.rank is not None else by_name.get(name)) for name, one in held]
    return sorted(made, key=lambda one: (newest(one.recorder), one.name))


def _from_zero(by_name: Mapping[str, int], held: list[tuple[str, Recorder]]) -> Mapping[str, int]:
    """Ranks of names that count from 1, counted from 0."""
    told = [
        (by_name[name], {rank for group in one.groups for rank in group.ranks}) for name, one in held if name in by_name
    ]
    strangers = [rank for rank, members in told if members and rank not in members]
    fits = all(rank > 0 and (not members or rank - 1 in members) for rank, members in told)
    return {name: rank - 1 for name, rank in by_name.items()} if strangers and fits else by_name


def unread(read: list[str], others: list[str]) -> list[tuple[str, Recorder]]:
    """Of files of which nothing could be read those that are named like dumps beside them: their ranks left a record, and what
    it held nobody knows."""
    stems = {_stem(name) for name in read}
    return [(name, Recorder((), enabled=False)) for name in others if _stem(name) in stems]


def without_what_was_read(dumped: list[Dumped]) -> list[Dumped]:
    """The dumps, but for unread ones of ranks of which another was read."""
    known = {one.rank for one in dumped if one.recorder.enabled}
    return [one for one in dumped if one.recorder.enabled or one.rank not in (None, *known)]


def of_one_run(dumped: list[Dumped]) -> tuple[list[Dumped], list[Gap]]:
    """The dumps of one job and of its last run; the others are gaps."""
    series: dict[str, list[Dumped]] = {}
    for one in dumped:
        series.setdefault(_stem(one.name), []).append(one)
    kept, gaps = dict(series), []
    for stem in sorted(series, key=lambda stem: (len(series[stem]), _age(series[stem]), stem)):
        rest = [one for other, ones in kept.items() if other != stem for one in ones]
        if (why := next(_why_not(series[stem], rest), "")) and rest:
            gaps.append(
                Gap("recorder", Why.SKIPPED, f"{stem}: {len(series[stem])} dumps {why}", "give them alone to see them")
            )
            del kept[stem]
    chosen = {id(one) for ones in kept.values() for one in ones}
    return [one for one in dumped if id(one) in chosen], gaps


def _why_not(ones: list[Dumped], rest: list[Dumped]) -> Iterator[str]:
    """What tells that a series of files does not belong to the others."""
    others: Ranks = {}
    for kept in rest:
        if kept.rank is not None:
            others.setdefault(kept.rank, []).append(kept.recorder)
    for one in ones:
        for other in others.get(one.rank, ()) if one.rank is not None else ():
            if _world(one.recorder) != _world(other) and _world(one.recorder) and _world(other):
                yield "of another job"
            if newest(one.recorder) < newest(other) and another_run(one.recorder, other):
                yield "of an earlier run"


def another_run(before: Recorder, now: Recorder) -> bool:
    """Were two recorders of one rank kept by two processes? Each numbers its operations from 0 on."""
    if not (len(before.entries) and len(now.entries)):
        return False
    if now.entries[-1].id < before.entries[-1].id:
        return True
    created = {entry.id: entry.created_ns for entry in before.entries[-256:]}
    return any(
        created.get(entry.id, entry.created_ns) != entry.created_ns for entry in now.entries if created.get(entry.id)
    )


def newest(recorder: Recorder) -> int:
    """When its last operation was issued."""
    return max((entry.created_ns for entry in recorder.entries[-50:]), default=0)


def _age(ones: list[Dumped]) -> int:
    return max(newest(one.recorder) for one in ones)


def _world(recorder: Recorder) -> tuple[int, ...]:
    """The members of the default group."""
    return next((group.ranks for group in recorder.groups if group.desc == "default_pg" and group.ranks), ())


def _stem(name: str) -> str:
    """A name without the last number of its last part."""
    folder, base = os.path.split(name)
    return os.path.join(folder, _LAST_NUMBER.sub("#", base))
