"""What the ranks did, compared: who is missing from which collective, over all groups, exactly.

Recorders in, an account out; nothing is fetched. The steps: groups (``groups``), each rank reduced (``ranks``), records of
other moments set aside (``skew``), calls that are not complete (``calls``), the wait-for graph (``graph``), its roots judged
(``judge``, with ``clash`` for calls that differ, ``awaited`` for what came next, ``circle`` for those who wait for each other),
two moments (``progress``). Where nothing waits, what is over is compared too (``finished``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...model.evidence.recorder import Recorder
from ...model.ranks import RankSet, ranks_phrase
from ...model.ring import Ring
from . import finished, graph, groups, progress, ranks, skew
from .calls import Pending, pending
from .judge import Judge, label
from .records import CollectiveAnalysis, Edge, Facts

__all__ = ["CollectiveAnalysis", "Edge", "Facts", "find"]

_NOTHING_KNOWN = Facts()


def find(
    recorders: Mapping[int, Recorder], world_size: int | None = None, facts: Facts = _NOTHING_KNOWN
) -> CollectiveAnalysis:
    """Compare the recorders of a job, by world rank."""
    usable = {rank: _in_columns(recorder) for rank, recorder in sorted(recorders.items()) if _usable(recorder)}
    if not usable:
        return CollectiveAnalysis(weak=("no rank has a recorder with entries",) if recorders else ())
    if not facts.now_ns:
        facts = replace(facts, now_ns=max(recorder.read_at_ns for recorder in usable.values()))
    known = groups.resolve(usable, world_size, facts)
    views = _views(usable, known)
    skewed = skew.find(views, known)
    everybody, views = views, {rank: view for rank, view in views.items() if rank not in skewed.early}
    calls = pending(views, known, skewed.strangers)
    dumped = not facts.earlier and not any(recorder.read_at_ns for recorder in usable.values())
    if dumped and (late := skew.lagging(calls, views)):
        told = f"{ranks_phrase(RankSet(late))} had not finished what is over everywhere else"
        return CollectiveAnalysis(weak=(*known.doubts, *_of_skew(skewed), told), rhythm=progress.rhythm(views))
    waits = graph.build(calls, views)
    ruling = Judge(waits, graph.roots(waits), views, known, facts).rule()
    waiting = RankSet(rank for rank, view in views.items() if view.open)
    mismatched = bool(ruling.states) and ruling.states[0].kind.endswith("mismatch")
    found = CollectiveAnalysis(
        states=ruling.states,
        culprits=ruling.culprits,
        waiting=waiting if mismatched else waiting - ruling.culprits,
        edges=tuple(_edges(calls, views, known)),
        cycles=ruling.cycles,
        ages=progress.ages(usable, views, facts.now_ns),
        rhythm=progress.rhythm(views),
        deadlines=progress.deadlines(views, facts.now_ns),
        silent=RankSet(range(known.world)) - RankSet(usable),
        weak=(*known.doubts, *_of_skew(skewed)),
    )
    if not found.states:
        differ = tuple(finished.differing(views, known))
        found = replace(found, differ=differ, culprits=RankSet(rank for one in differ for rank in one.culprits))
    found = progress.compare(found, everybody, facts.earlier)
    if found.moving and found.states and found.culprits:
        return progress.late_twice(found, find(facts.earlier, world_size))
    return found


def _of_skew(skewed: skew.Skew) -> Iterator[str]:
    if skewed.early:
        yield f"the records of {ranks_phrase(RankSet(skewed.early))} are of an earlier moment than the others'"


def _usable(recorder: Recorder) -> bool:
    """A recorder that was switched off says nothing about its rank; an empty one that was on says it did nothing."""
    return recorder.enabled and (bool(len(recorder.entries)) or bool(recorder.status) or bool(recorder.groups))


def _in_columns(recorder: Recorder) -> Recorder:
    if isinstance(recorder.entries, Ring):
        return recorder
    return replace(recorder, entries=Ring.of(recorder.entries))  # type: ignore[arg-type]  # a sequence like any other


def _views(recorders: Mapping[int, Recorder], known: groups.Groups) -> dict[int, ranks.RankView]:
    p2p_groups: set[int] = set()
    batches = any(recorder.only_active for recorder in recorders.values()) and any(
        ranks.posts_batches(Ring.of(recorder.entries)) for recorder in recorders.values()
    )
    views = {rank: ranks.view(rank, recorder, known, p2p_groups, batches) for rank, recorder in recorders.items()}
    for rank, recorder in recorders.items():
        ranks.add_counters(views[rank], recorder, known, p2p_groups)
    return views


def _edges(calls: list[Pending], views: Mapping[int, ranks.RankView], known: groups.Groups) -> Iterator[Edge]:
    """Who waits, for whom: members that have not come, and members that are held up before they can."""
    for call in calls:
        first = RankSet(rank for rank, op in call.waiting.items() if op.step == views[rank].open[0].step)
        held_up = RankSet(call.waiting) - first
        if first and (call.awaited or held_up):
            yield Edge(first, RankSet(call.awaited) | held_up, label(call, known))
