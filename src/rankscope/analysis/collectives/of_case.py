"""Recorders of a job's members → the account of its collectives, and the waits that follow, rank by rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.evidence.ras import RasReport
from ...model.evidence.recorder import Recorder
from ...model.evidence.store import StoreKeys
from ...model.process import Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span
from . import find, ras
from .meeting import arrivals
from .records import CollectiveAnalysis, Facts

if TYPE_CHECKING:
    from ..case import Member

_MOST_TARGETS = 16


def account(
    members: Sequence[Member],
    world_size: int | None,
    gone: RankSet | None = None,
    live: bool = True,
    reports: Sequence[RasReport] = (),
    stores: Sequence[StoreKeys] = (),
) -> CollectiveAnalysis:
    """Compare the recorders of all ranks; ``gone`` are ranks without a living process, ``reports`` what RAS answered.

    Of a running job, a rank that left no recorder may be alive on a host that nobody looked at: it is not suspected. Nor is one
    whose recorder is off, or a file that could not be read.
    """
    latest: dict[int, Recorder] = {}
    earlier: dict[int, Recorder] = {}
    for member in members:
        if member.role is Role.RANK and member.rank is not None:
            seen = member.over_time(Recorder)
            if seen:
                latest[member.rank] = seen[-1]
            if len(seen) > 1:
                earlier[member.rank] = seen[0]
    gone = gone or RankSet()
    unseen = RankSet(range(world_size or 0)) - RankSet(latest) if live else RankSet()
    unseen = (unseen | RankSet(rank for rank, recorder in latest.items() if not recorder.enabled)) - gone
    found = find(latest, world_size, Facts(earlier, gone, unseen, sizes=arrivals(stores).sizes))
    found = replace(found, weak=(*found.weak, *_filed(latest))) if live else found
    return _with_ras(found, members, reports) if reports else found


def _filed(recorders: Mapping[int, Recorder]) -> Iterator[str]:
    """Of a running job: whose recorder is a file, which tells of the moment at which it was written."""
    now_ns = max((recorder.read_at_ns for recorder in recorders.values()), default=0)
    ranks = RankSet(rank for rank, recorder in recorders.items() if recorder.source == "dump")
    if ranks:
        oldest = min(recorders[rank].read_at_ns for rank in ranks)
        ago = f", {span((now_ns - oldest) / 1e9)} before the others" if now_ns - oldest > 1e9 else ""
        yield f"the recorder of {ranks_phrase(ranks)} is a file, written when the watchdog dumped it{ago}"


def _with_ras(found: CollectiveAnalysis, members: Sequence[Member], reports: Sequence[RasReport]) -> CollectiveAnalysis:
    """Add what NCCL says itself; it decides only where no recorder does."""
    world = {(member.ref.host, member.ref.pid): member.rank for member in members if member.rank is not None}
    states = ras.judge(reports, world)
    if found.states or not states:
        return replace(found, states=(*found.states, *(replace(state, consequence=True) for state in states)))
    once = ("RAS was asked once: counts that differ may be skew",) if len(reports) < 2 else ()
    culprits = RankSet(rank for state in states for rank in state.culprits)
    waiting = RankSet(rank for state in states for rank in state.waiting) - culprits
    return replace(found, states=states, culprits=culprits, waiting=waiting, weak=(*found.weak, *once))


def rank_edges(found: CollectiveAnalysis) -> Mapping[int, tuple[tuple[int, str], ...]]:
    """Whom each waiting rank waits for and in which call. Ranks at fault come first; long lists are cut."""
    if not found.hang:
        return {}
    out: dict[int, dict[int, str]] = {rank: {} for rank in found.waiting}
    for edge in found.edges:
        targets = [*(edge.targets & found.culprits), *(edge.targets - found.culprits)][:_MOST_TARGETS]
        for rank in edge.waiters:
            for target in targets:
                if target != rank:
                    out.setdefault(rank, {}).setdefault(target, edge.why)
    return {rank: tuple(targets.items()) for rank, targets in out.items()}
