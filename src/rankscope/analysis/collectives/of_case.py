"""Recorders of a job's members → the account of its collectives, and the waits that follow, rank by rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.evidence.ras import RasReport
from ...model.evidence.recorder import Recorder
from ...model.evidence.store import StoreKeys
from ...model.process import Role
from ...model.ranks import RankSet
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

    Of a running job, a rank that left no recorder may be alive on a host that nobody looked at: it is not suspected.
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
    unseen = RankSet(range(world_size or 0)) - RankSet(latest) - gone if live else RankSet()
    found = find(latest, world_size, Facts(earlier, gone, unseen, sizes=arrivals(stores).sizes))
    return _with_ras(found, members, reports) if reports else found


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
