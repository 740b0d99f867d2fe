"""Ranks stand on the same line but in different iterations of the loop around it.

## What it means
All ranks wait in the same collective of the same loop, yet some have turned the loop once more or less than the others: an
uneven number of batches, a skipped step, a retried one. Their calls do not match, so nobody gets on.

## How it is recognised
The call paths are equal and old, and a counter of the job's own frames (a local, or a global of a script's top level) has the
same value on most ranks and another on the odd ones.

## What to do
Compare the number of batches per rank (`drop_last=True`, padding, `torch.distributed.algorithms.join.Join`), and look for
`continue`, `break` and caught exceptions in the loop.

## How to prevent it
Equal step counts by construction; agree on "is there more data" with a collective before each step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..analysis.case import Case
from ..analysis.progress import counters
from ..analysis.sites import Site, by_site
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.ranks import RankSet, ranks_phrase
from ..model.words import span
from . import Rule
from ._say import at


def check(case: Case) -> Iterator[Finding]:
    if case.collectives or not case.snapshot.live:
        return
    sites = by_site(case)
    if len(sites) != 1 or not sites[0].waiting or len(sites[0].ranks) < 3 or not case.stuck(sites[0].still_s):
        return
    found = _odd(sites[0])
    if found is None:
        return
    name, common, odd = found
    culprits = RankSet(odd)
    said = ", ".join(f"{name} = {value} on rank {rank}" for rank, value in sorted(odd.items())[:4])
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{ranks_phrase(culprits)} in another iteration than the others at {at(sites[0].frame)}: "
              f"{said}, {common} elsewhere",
        ranks=culprits, processes=tuple(process for rank in culprits for process in case.of_rank(rank)),
        because=(Reason(f"all ranks stand in {sites[0].op} on the same line; {name} is {common} on most of them", "locals"),
                 Reason(f"nobody has moved for {span(sites[0].still_s)}", "kernel")),
        next=("rankscope stacks --locals --source",),
    )  # fmt: skip


def _odd(site: Site) -> tuple[str, int, dict[int, int]] | None:
    """The counter that tells some ranks from the rest, outermost first: its name, the common value, and who differs."""
    values: dict[tuple[str, str, str], dict[int, int]] = {}
    for standing in site.standings:
        for key, value in counters(standing).items():
            if standing.member.rank is not None:
                values.setdefault(key, {})[standing.member.rank] = value
    for key, by_rank in values.items():
        if len(by_rank) < len(site.ranks):
            continue
        (common, many), *rest = Counter(by_rank.values()).most_common()
        # A value that differs on every rank is an identity (rank, port, seed), not a position in a loop.
        if rest and many * 2 > len(by_rank) and all(abs(value - common) <= 1_000_000 for value, _ in rest):
            return key[2], common, {rank: value for rank, value in by_rank.items() if value != common}
    return None


RULE = Rule(id="rank-iteration-behind", cls="collective-missed-by-rank", check=check, page=__doc__ or "", order=42)
