"""Ranks of one group stand in different collectives.

## What it means
Some ranks took another path through the program: a collective under `if rank == 0:`, an exception caught on one rank, a batch
skipped, an early `break`. Each side waits in its own collective for the other, which will never come.

## How it is recognised
All ranks wait in collectives, none of them has moved for longer than `--stuck-after`, but their call paths differ. Where the
calls tell their group, the ranks of each group are compared among themselves: those of another one are rightly elsewhere. The
larger side is taken for the common path; the last common frame and the first line that differs are shown with both sides. With
a flight recorder the sequence numbers decide instead.

## What to do
Read the line where the paths part: the condition there differs between ranks. Make the decision on one rank and broadcast it,
or let every rank take part.

## How to prevent it
No collective behind a condition that only this rank knows; reduce the condition first; equal numbers of batches.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.divergence import part
from ...analysis.frame_tables import WaitKind
from ...analysis.own_age import youngest_s
from ...analysis.sites import Site, by_part
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.process import Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span, verb
from .. import make_rule


def check(case: Case) -> Iterator[Finding]:
    if case.collectives:
        return  # recorders know exactly
    if case.comparison.moving:
        return  # and here that calls end, so that two places are two steps
    if not case.snapshot.live:
        return  # saved stacks tell no age
    told = set()
    # Who tells no group counts in each that may be its own: the largest says most of it.
    for sites in sorted(by_part(case), key=_size, reverse=True):
        for found in _parted(case, sites):
            if found.ranks not in told:
                told.add(found.ranks)
                yield found


def _size(sites: list[Site]) -> int:
    return sum(len(site.ranks) for site in sites)


def _parted(case: Case, sites: list[Site]) -> Iterator[Finding]:
    if len(sites) < 2 or any(not site.waiting for site in sites) or _in_one_meeting(sites):
        return
    age = youngest_s(standing for site in sites for standing in site.standings)
    if not case.stuck(age) if age is not None else _somebody_moves(case):
        return
    common, *others = sorted(sites, key=lambda site: (-len(site.ranks), site.ranks and min(site.ranks)))
    odd = RankSet(rank for site in others for rank in site.ranks)
    tie = len(odd) >= len(common.ranks)
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
        certainty=Certainty.POSSIBLE if tie or age is None else Certainty.LIKELY,
        title=f"{ranks_phrase(odd)} left the common path: in {_there(others[0])}, while {ranks_phrase(common.ranks)} "
              f"{verb('wait', len(common.ranks))} in {_there(common)}",
        ranks=odd, processes=tuple(process for rank in odd for process in case.of_rank(rank)),
        because=tuple(_reasons(common, others, age)),
        against=("the groups are equally large: which of them is wrong the stacks cannot say",) if tie else (),
        next=("rankscope stacks --source",),
    )  # fmt: skip


def _in_one_meeting(sites: list[Site]) -> bool:
    """Whether all set up one group at one line of the job: who opens the store waits elsewhere in it than those who come."""
    lines = {(site.frame.file, site.frame.line) if site.frame else None for site in sites}
    kinds = {standing.kind for site in sites for standing in site.standings}
    return len(lines) == 1 and None not in lines and kinds == {WaitKind.RENDEZVOUS}


def _somebody_moves(case: Case) -> bool:
    """Where no age is known because the ranks went on between the looks, two places are nothing but two steps."""
    return any(one.ran or one.moved for one in case.standings.values() if one.member.role is Role.RANK)


def _there(site: Site) -> str:
    where = site.frame
    return f"{site.op}" + (f" ({where.file.rsplit('/', 1)[-1]}:{where.line})" if where else "")


def _reasons(common: Site, others: list[Site], age: float | None) -> Iterator[Reason]:
    fork = part(common.stack, others[0].stack)
    if fork is not None:
        yield Reason(f"the paths part in {fork.common}: {ranks_phrase(common.ranks)} at {fork.one}, "
                     f"{ranks_phrase(others[0].ranks)} at {fork.other}", "python-stack")  # fmt: skip
    yield Reason(f"nobody has moved for {span(age)}", "kernel")


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 40, check)
