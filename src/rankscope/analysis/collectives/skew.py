"""Records that do not fit each other: dumps of different moments, and members who are none.

What every member needs to end, an all-reduce, say, nobody ends before all have issued it. Where it is over on one member while
another's record never shows it, the other's record is of an earlier moment, or the list of members is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .calls import Pending
from .groups import Groups
from .ranks import RankView

_NEEDS_ALL = frozenset({
    "all_reduce", "allreduce", "allreduce_coalesced", "_all_gather_base", "_allgather_base", "all_gather", "allgather",
    "_reduce_scatter_base", "reduce_scatter", "barrier",
})  # fmt: skip
_MOST_LOOKED_AT = 512


@dataclass(frozen=True)
class Skew:
    """``early`` are ranks whose record ends before the others'; ``strangers`` are (group, rank) of lists of members that
    are contradicted by what was done."""

    early: frozenset[int] = frozenset()
    strangers: frozenset[tuple[int, int]] = frozenset()


def find(views: Mapping[int, RankView], groups: Groups) -> Skew:
    """Compare what is over on some members with what others have issued, in groups with something unfinished."""
    early, strangers = set(), set()
    for gid in {op.group for view in views.values() for op in view.open if not op.call.is_p2p}:
        members = [rank for rank in groups.all[gid].ranks if rank in views]
        over, created = max(
            (found for rank in members for found in _newest_over(views[rank], groups, gid)), default=(0, 0)
        )
        for rank in members if over else ():
            last = views[rank].last.get(gid)
            if last is not None and last < over:
                early.add(rank)
            elif last is None and _would_show(views[rank], created):
                strangers.add((gid, rank))
    return Skew(frozenset(early), frozenset(strangers))


def lagging(calls: Sequence[Pending], views: Mapping[int, RankView]) -> frozenset[int]:
    """The few ranks that show unfinished calls while all else is over everywhere, these calls too: nobody waits for them.

    Dumps of a job that goes on look so when they were not taken at one moment.
    """
    waiting = frozenset(rank for call in calls for rank in call.waiting)
    over = all(
        call.done and not call.awaited and (call.peer is not None or call.op.call.op in _NEEDS_ALL) for call in calls
    )
    return waiting if over and 2 * len(waiting) < len(views) else frozenset()


def _newest_over(view: RankView, groups: Groups, gid: int) -> Iterator[tuple[int, int]]:
    """Number and time of a rank's newest call of a group that is over and that needed everybody."""
    ring = view.ring
    for at in range(len(ring) - 1, max(-1, len(ring) - 1 - _MOST_LOOKED_AT), -1):
        call = ring.calls[at]
        if ring.done[at] and call.op in _NEEDS_ALL and groups.of.get((view.rank, call.group)) == gid:
            yield ring.seqs[at], ring.created[at]
            return


def _would_show(view: RankView, created_ns: int) -> bool:
    """Would a record hold what was issued then?"""
    if not len(view.ring) or view.only_active:
        return False
    return view.whole or view.ring.created[0] < created_ns
