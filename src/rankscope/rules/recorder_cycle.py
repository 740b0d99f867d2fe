"""Ranks wait for each other in a circle of groups.

## What it means
Some ranks entered a collective of one group, others a collective of another group first; each needs the other to come before it
can go on. Nobody is absent, and no rank is more to blame than another.

## How it is recognised
The recorders of all ranks give a graph of who waits for whom; a part of it that leads nowhere else and closes on itself is a
deadlock, and is shown as one: every call in it, who has come and who is kept elsewhere.

## What to do
Look at the lines that are shown: the same two calls stand in different order on different ranks.

## How to prevent it
One global order of groups for all ranks; no rank-local choice which group goes first. With several communicators on one
device, order them by events or synchronise between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case
from ..model.diagnosis import CollectiveState, Finding, Kind, Reason
from ..model.ranks import RankSet, ranks_phrase
from . import Rule
from ._recorder import call, causes, certainty, look_next, site


def check(case: Case) -> Iterator[Finding]:
    for ranks in case.comparison.cycles:
        inside = set(ranks)
        states = [state for state in causes(case, "circular_wait") if inside & set(state.waiting)]
        if not states:
            continue
        reasons = [_leg(state) for state in states[:12]]
        places = (site(case, state, state.waiting) for state in states[:4])
        reasons.extend(Reason(f"issued at {place}", "recorder") for place in dict.fromkeys(places) if place)
        messages = all(state.pair is not None for state in states)
        yield Finding(
            rule=RULE.id, cls="p2p-order-deadlock" if messages else RULE.cls, kind=Kind.CAUSE,
            certainty=certainty(case, states[0]), because=tuple(reasons), against=case.comparison.weak,
            title=f"{ranks_phrase(RankSet(ranks))} wait for each other in {len(states)} calls: a deadlock",
            processes=tuple(process for rank in ranks[:64] for process in case.of_rank(rank)),
            next=look_next(case, RankSet(ranks[:2])), collective=states[0],
        )  # fmt: skip


def _leg(state: CollectiveState) -> Reason:
    missing = (
        f"; {ranks_phrase(state.missing)} {'has' if len(state.missing) == 1 else 'have'} not come"
        if state.missing
        else ""
    )
    return Reason(f"{ranks_phrase(state.waiting)} {'is' if len(state.waiting) == 1 else 'are'} in {call(state)}{missing}",
                  "recorder")  # fmt: skip


RULE = Rule(id="recorder-cycle", cls="collective-cycle", check=check, page=__doc__ or "", order=60)
