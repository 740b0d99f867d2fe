"""Calls that are over on all who made them, and yet were not the same call: nothing hangs, and the data is wrong.

Gloo lets a broadcast of fewer elements pass, and NCCL knows no types on the wire: what arrives is cut, stale, or misread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...model.diagnosis import CollectiveState
from ...model.ranks import RankSet
from ...model.ring import Call
from .compare import Mismatch, Signature, mismatch, signature
from .groups import Groups
from .ranks import RankView

_NEWEST = 256
_MOST_NAMED = 4
_MOST_CALLS = 20_000
Made = dict[int, list[Call]]


def differing(views: Mapping[int, RankView], groups: Groups) -> Iterator[CollectiveState]:
    """The first few such calls, of the newest of each rank, where nothing is unfinished."""
    named = 0
    known: dict[tuple[int, ...], Signature] = {}
    for (group, seq), made in sorted(_over(views, groups).items())[:_MOST_CALLS]:
        issued = {rank: _signature(calls, known) for rank, calls in made.items()}
        found = mismatch(issued, len(groups.all[group].ranks), None) if len(set(map(id, issued.values()))) > 1 else None
        if found is not None:
            yield _state(groups, group, seq, made, found)
            named += 1
        if named == _MOST_NAMED:
            return


def _over(views: Mapping[int, RankView], groups: Groups) -> dict[tuple[int, int], Made]:
    """Who made what, by group and number; not what the oldest entries of a ring show, of which some may be gone."""
    found: dict[tuple[int, int], Made] = defaultdict(dict)
    for rank, view in views.items():
        start = max(0, len(view.ring) - _NEWEST)
        cut = (
            {(call.group, seq) for call, seq in zip(view.ring.calls[:start], view.ring.seqs[:start])}
            if start
            else set()
        )
        for call, seq in zip(view.ring.calls[start:], view.ring.seqs[start:]):
            group = groups.of.get((rank, call.group))
            if group is not None and not call.is_p2p and (call.group, seq) not in cut:
                found[group, seq].setdefault(rank, []).append(call)
    return found


def _signature(calls: list[Call], known: dict[tuple[int, ...], Signature]) -> Signature:
    """Equal calls share one object, and so do their signatures."""
    key = tuple(map(id, calls))
    if key not in known:
        known[key] = signature(calls)
    return known[key]


def _state(groups: Groups, gid: int, seq: int, made: Made, found: Mismatch) -> CollectiveState:
    group, model = groups.all[gid], found.expected.call
    return CollectiveState(
        group=group.name, desc=group.desc, ranks=group.ranks, op=model.op, seq=seq, kind=found.kind,
        arrived=RankSet(made), missing=RankSet(), culprits=RankSet(found.odd),
        detail="it is over on all of them: nothing waits, and the data is wrong",
        found=tuple((str(one), RankSet(ranks)) for one, ranks in found.found.items()),
        input_sizes=model.input_sizes, output_sizes=model.output_sizes,
        dtype=(model.input_dtypes or model.output_dtypes or ("",))[0],
    )  # fmt: skip
