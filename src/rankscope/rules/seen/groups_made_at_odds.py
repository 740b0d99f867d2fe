"""Ranks make groups with each other in different places: each waits for the other in another call of `new_group`.

## What it means
`new_group` is a call of the whole world: all ranks make all groups, in one order and with the same members, also those who will
not belong to the group. Where groups are made under a condition on the rank, or in an order of its own, ranks wait for each
other in different calls; and the numbers that torch gives to groups no longer name the same ones, so that ranks of different
groups find each other's keys in the store.

## How it is recognised
Two ranks have stood in the making of a group for longer than `--stuck-after`. Each is a member of the other's, and they stand on
different lines, or with different members; or torch gave the group another name on each of them, so that one has made fewer
groups before.

## What to do
Let every rank make all groups and keep its own: `groups = [dist.new_group(members) for members in all_members]`; or
`dist.new_subgroups_by_enumeration(…)`.

## How to prevent it
Make groups once, at the start, from one table that is the same on all ranks (`init_device_mesh`). Where only members can make
one, `use_local_synchronization=True`, and each rank its groups in one order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...analysis.case import Case
from ...analysis.group_makers import Making, apart, makers, place
from ...analysis.own_age import youngest_s
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span
from .. import make_rule
from .._say import at

_TABLE = "groups = [dist.new_group(members) for members in all_members]   # on every rank, in one order"
_NAMED = 4


def check(case: Case) -> Iterator[Finding]:
    found = makers(case) if case.snapshot.live else {}
    odds = {_where(found[rank]) for pair in apart(found) for rank in pair}
    both = RankSet(rank for rank, making in found.items() if _where(making) in odds)
    ranks = [found[rank].standing for rank in both]
    age = youngest_s(ranks)
    if not both or (age is not None and not case.stuck(age)):
        return
    since = Reason(f"they have waited there for {span(age)}", "kernel") if age is not None else None
    together = len({place(found[rank]) for rank in both}) == 1
    yield Finding(
        rule=RULE.id, cls="collective-missed-by-rank" if together else RULE.cls, kind=Kind.CAUSE,
        certainty=Certainty.POSSIBLE if age is None else Certainty.LIKELY,
        title=f"{ranks_phrase(both)} {_TOGETHER if together else _IN_PLACES}",
        ranks=_odd(found, both), processes=tuple(one.member.process for one in ranks),
        because=(*(_place(rank, found[rank]) for rank in _one_each(found, both)), *((since,) if since else ()),
                 *_elsewhere(case, both)),
        next=(*_source([found[rank].standing for rank in _one_each(found, both)]), _TABLE),
    )  # fmt: skip


_TOGETHER = "make one group under different names: not all of them were in the making of each group before"
_IN_PLACES = (
    "make groups with each other in different places: the groups are made in another order, or by some ranks only"
)


def _odd(found: Mapping[int, Making], both: RankSet) -> RankSet:
    """Those who are not where most of them are; all where there is no most."""
    (usual, most), *_ = Counter(_where(found[rank]) for rank in both).most_common()
    return RankSet(rank for rank in both if _where(found[rank]) != usual) if 2 * most > len(both) else both


def _one_each(found: Mapping[int, Making], both: RankSet) -> list[int]:
    """One rank of each place, at most a few."""
    first: dict[object, int] = {}
    for rank in both:
        first.setdefault(_where(found[rank]), rank)
    return list(first.values())[:_NAMED]


def _where(making: Making) -> object:
    return place(making), making.name


def _place(rank: int, making: Making) -> Reason:
    standing, named = making.standing, f", which is number {making.name} of its own" if making.name.isdigit() else ""
    text = f"rank {rank} makes a group of {ranks_phrase(making.members)} in {at(standing.user_frame)}{named}"
    return Reason(text, "python-stack", standing.member.ref)


def _elsewhere(case: Case, odd: RankSet) -> Iterator[Reason]:
    """Where the others are: they made fewer groups, or are not yet there."""
    others = RankSet(case.by_rank) - odd
    first = next((case.standings[case.by_rank[rank].ref] for rank in others), None)
    if first is not None and first.user_frame is not None:
        verb = "is" if len(others) == 1 else "are"
        text = f"{ranks_phrase(others)} {verb} elsewhere: rank {first.member.rank} stands in {at(first.user_frame)}"
        yield Reason(text, "python-stack", first.member.ref)


def _source(ranks: Sequence[Standing]) -> Iterator[Step]:
    for one in ranks[:2]:
        yield Step(f"rankscope stacks pid:{one.member.ref.pid} --source", one.member.ref)


RULE = make_rule(__name__, __doc__, "collective-mismatch", 43, check)
