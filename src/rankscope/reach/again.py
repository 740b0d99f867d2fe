"""A second, narrow errand to hosts that have been looked at: some processes once more, or the source lines where they stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..errors import RankscopeError
from ..model.evidence.source import Place, SourceLines
from ..model.process import ProcessRef
from ..model.snapshot import Snapshot
from ..probe.source_lines import TOTAL_S, Lines
from ..probe.sweep import Plan
from .gather import Remote, Wish, gather

# What the reading may take there, and a second each for the way and for what becomes of it here: a verdict waits for the lines.
_SOURCE = Plan(sweeps=1, interval_s=0.0, only=frozenset(), deadline_s=TOTAL_S + 2.0)


def look(remote: Remote, refs: Sequence[ProcessRef], plan: Plan) -> Snapshot:
    """Look at these processes alone; raise RankscopeError when none of their hosts answers."""
    wish = Wish(tuple(ref.key for ref in refs), hosts=frozenset(ref.host for ref in refs))
    first, *others = gather(_once_more(remote), plan, wish=wish)
    for other in others:  # processes of one job whose hosts have nothing in common
        sweeps = tuple(
            dataclasses.replace(one, items=one.items + two.items) for one, two in zip(first.sweeps, other.sweeps)
        )
        first = dataclasses.replace(first, sweeps=sweeps, gaps=first.gaps + other.gaps)
    return first


def _once_more(remote: Remote) -> Remote:
    """The hosts of a look, asked anew without keeping what they say: the user asked for what they said to the look itself."""
    return dataclasses.replace(remote, options=dataclasses.replace(remote.options, raw_dir=None))


def source(remote: Remote, places: Sequence[Place], around: int) -> dict[Place, Lines]:
    """The lines around places of processes on other hosts, read there with the rights of the job's user."""
    wish = Wish(
        tuple({place.ref.key for place in places}), tuple((p.ref.key, p.file, p.line) for p in places), around,
        frozenset(place.ref.host for place in places),
    )  # fmt: skip
    try:
        seen = list(gather(_once_more(remote), _SOURCE, wish=wish)) if places else []
    except RankscopeError:
        return {}
    records = [item for one in seen for sweep in one.sweeps for item in sweep.items]
    return {
        Place(item.process, excerpt.file, excerpt.line): Lines(excerpt.lines, excerpt.missing, excerpt.newer)
        for item in records if isinstance(item.record, SourceLines) and item.process is not None
        for excerpt in item.record.excerpts
    }  # fmt: skip
