"""Ranks reduce with different operations: the call ends, and the results are wrong.

## What it means
A reduction in which one rank sums and another takes the maximum does not fail and does not hang. Each rank goes on with
numbers that are no reduction of anything, and the run diverges later, elsewhere.

## How it is recognised
Ranks that were prepared (`rankscope.prepare`) note the reduction of each call. Under one number of one group, all made the same
call and not all passed the same reduction. This explains wrong results, never a hang.

## What to do
Compare the call sites: a default in one place and an argument in the other, an option that only some ranks got.

## How to prevent it
Pass the reduction in one place that all ranks share.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.evidence.calls import Calls, NotedCall
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from ._recorder import parties


def check(case: Case) -> Iterator[Finding]:
    for (group, number), made in sorted(_by_number(case).items()):
        sides = parties({rank: call.reduction for rank, call in made.items() if call.reduction})
        if len(sides) > 1 and len({call.op for call in made.values()}) == 1:
            yield _finding(case, group, number, made, sides)
            return  # those that follow most likely come from the same lines


def _by_number(case: Case) -> dict[tuple[str, int], dict[int, NotedCall]]:
    """Noted collectives by group and number, then by rank; names tell groups of different ranks apart in one job."""
    out: dict[tuple[str, int], dict[int, NotedCall]] = {}
    for rank, member in case.by_rank.items():
        for call in found.calls if (found := member.latest(Calls)) else ():
            if call.peer is None and call.op not in ("send", "recv"):
                out.setdefault((call.group, call.n), {})[rank] = call
    return out


def _finding(case: Case, group: str, number: int, made: dict[int, NotedCall], sides: dict[str, RankSet]) -> Finding:
    (_, most), *others = sides.items()
    odd = RankSet(rank for _, ranks in others for rank in ranks)
    fault = odd if len(most) > len(odd) else RankSet()
    said = []
    for reduction, ranks in sides.items():
        call = made[next(iter(ranks))]
        at = f" at {call.frames[0].file.rsplit('/', 1)[-1]}:{call.frames[0].line}" if call.frames else ""
        said.append(Reason(f"{ranks_phrase(ranks)} passed {reduction}{at}", "calls"))
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.CERTAIN, ranks=fault, because=tuple(said),
        title=f"{' and '.join(sides)} in one {next(iter(made.values())).op} (number {number} of group {group}): "
        f"{ranks_phrase(RankSet(made))} go on with wrong results",
        processes=tuple(process for rank in fault for process in case.of_rank(rank)),
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "collective-mismatch", 95, check)
