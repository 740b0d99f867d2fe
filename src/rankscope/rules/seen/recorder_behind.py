"""The awaited rank moved between two looks: it is late, not lost.

## What it means
Ranks wait in a collective for a member that has not issued it, but that member issued or finished other calls meanwhile. It is
on its way; the job is slow.

## How it is recognised
Two recorders of different moments: the same call is waited in, and the ranks that have not come did something in between.

## What to do
Look what makes this rank slower than its peers: its data, its host, its device.

## How to prevent it
Balance the work; watch step times per rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import Finding, Kind
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._recorder import call, certainty, waits


def check(case: Case) -> Iterator[Finding]:
    for state in case.comparison.states:
        if state.kind == "straggler" and not state.consequence:
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=certainty(case),
                title=f"{_late(state.culprits)} late for {call(state)}, but {verb('move', len(state.culprits))}",
                ranks=state.culprits,
                processes=tuple(process for rank in state.culprits for process in case.of_rank(rank)),
                because=tuple(waits(case, state)), next=("rankscope diagnose --sweeps 3 --interval 10",), collective=state,
            )  # fmt: skip


def _late(ranks: RankSet) -> str:
    return f"{ranks_phrase(ranks)} {verb('are', len(ranks))}"


RULE = make_rule(__name__, __doc__, "straggler-slow-rank", 90, check)
