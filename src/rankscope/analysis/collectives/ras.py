"""NCCL's own counts, judged: which rank of which communicator is behind the others, or silent.

RAS counts launches by type and communicator; it knows neither sizes nor messages nor what comes next. Numbers that differ
in one report may be skew; two equal reports are a hang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...model.diagnosis import CollectiveState
from ...model.evidence.ras import Communicator, RasRank, RasReport
from ...model.ranks import RankSet

Owner = tuple[str, int]


def judge(reports: Sequence[RasReport], world: Mapping[Owner, int] | None = None) -> tuple[CollectiveState, ...]:
    """States of the last report, the silent first; ``world`` gives world ranks by host and pid."""
    if not reports:
        return ()
    report = reports[-1]
    known = dict(_world(report)) | dict(world or {})
    before = {one.id: one for one in reports[-2].communicators} if len(reports) > 1 else {}
    states = [state for one in report.communicators for state in _states(one, before.get(one.id), known)]
    return tuple(sorted(states, key=lambda state: state.kind != "no_evidence_rank"))


def _world(report: RasReport) -> Iterator[tuple[Owner, int]]:
    """World ranks by process, when one communicator holds every process that the report names."""
    owners = {(one.host, one.pid) for comm in report.communicators for one in comm.ranks if one.pid}
    for comm in sorted(report.communicators, key=lambda comm: -comm.size):
        inside = {(one.host, one.pid): one.rank for one in comm.ranks if one.rank >= 0}
        if len(inside) == comm.size and owners <= inside.keys():
            yield from inside.items()
            return


def _states(comm: Communicator, before: Communicator | None, world: Mapping[Owner, int]) -> Iterator[CollectiveState]:
    members = tuple(world.get((one.host, one.pid), one.rank) for one in comm.ranks)
    silent = [one for one in comm.ranks if not one.answers]
    if silent:
        op, count = _most_launched(comm)
        detail = "considered dead by RAS" if all(one.dead for one in silent) else "does not answer RAS"
        yield _state(comm, members, op, count, "no_evidence_rank", silent, world, detail)
    for op in sorted({op for one in comm.ranks for op in one.counts}):
        behind, count = _behind(comm, op)
        if behind:
            moved = before is not None and any(_count(before, one, op) != one.counts.get(op) for one in behind)
            still = before is not None and not moved
            detail = (
                "equal in two reports"
                if still
                else "it moved between two reports"
                if moved
                else "one report: may be skew"
            )
            yield _state(comm, members, op, count, "straggler" if moved else "missing_rank", behind, world, detail)


def _behind(comm: Communicator, op: str) -> tuple[list[RasRank], int]:
    """Ranks that launched fewer operations of a type than the most advanced, when they are the smaller part."""
    answering = [one for one in comm.ranks if one.answers and op in one.counts]
    counts = Counter(one.counts[op] for one in answering)
    if op in comm.usual:
        counts[comm.usual[op]] += max(0, comm.size - len(answering))
    if len(counts) < 2:
        return [], 0
    most = max(counts)
    return [one for one in answering if one.counts[op] < most], most


def _count(comm: Communicator, rank: RasRank, op: str) -> int | None:
    return next((one.counts.get(op) for one in comm.ranks if one.rank == rank.rank), None)


def _most_launched(comm: Communicator) -> tuple[str, int]:
    counts = Counter({op: max(one.counts.get(op, 0) for one in comm.ranks) for one in comm.ranks for op in one.counts})
    return counts.most_common(1)[0] if counts else ("", 0)


def _state(
    comm: Communicator,
    members: tuple[int, ...],
    op: str,
    count: int,
    kind: str,
    at_fault: list[RasRank],
    world: Mapping[Owner, int],
    detail: str,
) -> CollectiveState:
    culprits = RankSet(rank for one in at_fault if (rank := world.get((one.host, one.pid), one.rank)) >= 0)
    arrived = RankSet(rank for rank in members if rank >= 0) - culprits
    return CollectiveState(
        group=comm.id, desc="", ranks=members, op=op, seq=count or None, kind=kind, arrived=arrived, missing=culprits,
        culprits=culprits, detail=detail, waiting=arrived,
    )  # fmt: skip
