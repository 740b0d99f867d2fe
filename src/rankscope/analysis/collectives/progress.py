"""What time adds: how old a wait is, how often a rank usually calls, and what moved between two moments."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping

from ...model.diagnosis import CollectiveState
from ...model.evidence.recorder import Recorder
from ...model.ranks import RankSet
from ...model.ring import Ring
from .ranks import Op, RankView
from .records import CollectiveAnalysis

_RECENT = 64


def ages(recorders: Mapping[int, Recorder], views: Mapping[int, RankView], now_ns: int) -> dict[int, float]:
    """Seconds since each rank issued its oldest unfinished operation, where the moment of reading is known."""
    out = {}
    for rank, view in views.items():
        read_at = recorders[rank].read_at_ns or now_ns
        created = [op.created_ns for op in view.open if op.created_ns]
        if created and read_at:
            out[rank] = max(0.0, (read_at - min(created)) / 1e9)
    return out


def deadlines(views: Mapping[int, RankView], now_ns: int) -> dict[int, float]:
    """Seconds until each rank's watchdog gives up the first of its unfinished operations; negative when that is over."""
    out = {}
    for rank, view in views.items():
        left = [one for op in view.open if (one := time_left(op, view.read_at_ns or now_ns)) is not None]
        if left:
            out[rank] = min(left)
    return out


def time_left(op: Op, now_ns: int) -> float | None:
    """Seconds from now, by the clock that issued it, until an operation times out; None where something is not known."""
    if not (now_ns and op.created_ns and op.call.timeout_ms > 0):
        return None
    return (op.created_ns - now_ns) / 1e9 + op.call.timeout_ms / 1e3


def rhythm(views: Mapping[int, RankView]) -> dict[int, float]:
    """The longest usual pause between a rank's recent operations, in seconds (nine of ten are shorter)."""
    out = {}
    for rank, view in views.items():
        recent = [created for created in view.ring.created[-_RECENT:] if created]
        gaps = [max(0, after - before) / 1e9 for before, after in zip(recent, recent[1:])]
        if len(gaps) >= 8:
            out[rank] = statistics.quantiles(gaps, n=10)[-1]
    return out


def compare(
    found: CollectiveAnalysis, views: Mapping[int, RankView], earlier: Mapping[int, Recorder]
) -> CollectiveAnalysis:
    """Say whether the job moved since the earlier recorders; a culprit that moved is behind, not absent."""
    before = {rank: Ring.of(recorder.entries) for rank, recorder in earlier.items() if rank in views}
    if not before:
        return found
    moved = RankSet(rank for rank, ring in before.items() if _moved(ring, views[rank].ring))
    if not found.states:
        return dataclasses.replace(found, moving=bool(moved))
    waited_before = RankSet(rank for rank, ring in before.items() if _same_wait(ring, views[rank]))
    decisive = found.states[0]
    if not (decisive.waiting & waited_before) and decisive.waiting & RankSet(before):
        return dataclasses.replace(found, moving=True)
    if found.culprits & moved:
        states = tuple(_behind(state, moved) for state in found.states)
        return dataclasses.replace(found, states=states, moving=False)
    return dataclasses.replace(found, moving=False)


def late_twice(found: CollectiveAnalysis, before: CollectiveAnalysis) -> CollectiveAnalysis:
    """The job moves, but at both moments all waited for the same few ranks: those are slow, each time."""
    missing = all(one.states and one.states[0].kind == "missing_rank" for one in (found, before))
    if not missing or found.culprits != before.culprits or 2 * len(found.culprits) > len(found.waiting):
        return found
    return dataclasses.replace(found, states=tuple(_behind(state, found.culprits) for state in found.states))


def _moved(before: Ring, now: Ring) -> bool:
    """Did a rank issue or finish anything?"""
    if len(before) != len(now) or not len(now):
        return len(before) != len(now)
    return before.ids[-1] != now.ids[-1] or sum(before.done) != sum(now.done)


def _same_wait(before: Ring, view: RankView) -> bool:
    """Is a rank's first unfinished operation the one it had before?"""
    if not view.open:
        return False
    first = view.ring.ids[view.open[0].at]
    at = before.done.find(0)
    while at >= 0:
        if before.ids[at] == first:
            return True
        at = before.done.find(0, at + 1)
    return False


def _behind(state: CollectiveState, moved: RankSet) -> CollectiveState:
    if state.kind == "missing_rank" and state.culprits and not state.culprits - moved:
        return dataclasses.replace(state, kind="straggler", detail="it moved between the two moments: it is on its way")
    return state
