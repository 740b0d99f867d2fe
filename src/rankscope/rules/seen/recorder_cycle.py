"""Ranks wait for each other in a circle of groups.

## What it means
Some ranks entered a collective of one group, others a collective of another group first; each needs the other to come before it
can go on. Nobody is absent, and no rank is more to blame than another.

## How it is recognised
The recorders of all ranks give a graph of who waits for whom; a part of it that leads nowhere else and closes on itself is a
deadlock, and is shown as one: every call in it, who has come and who is kept elsewhere. Programs repeat themselves: where one
rank left what it did in every step before, and all others kept it, that is said, and of messages the rank is named.

## What to do
Look at the lines that are shown: the same two calls stand in different order on different ranks.

## How to prevent it
One global order of groups for all ranks; no rank-local choice which group goes first. With several communicators on one
device, order them by events or synchronise between them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...model.diagnosis import CollectiveState, Finding, Kind, Reason
from ...model.evidence.recorder import Recorder
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._recorder import at_most_likely, call, causes, certainty, look_next, site


def check(case: Case) -> Iterator[Finding]:
    for ranks in case.comparison.cycles:
        inside = set(ranks)
        if not any(inside & set(state.waiting) for state in causes(case, "circular_wait")):
            continue
        # One leg of a circle that is old enough makes all of them so: none of them ends without the others.
        states = [one for one in case.comparison.states
                  if one.kind == "circular_wait" and not one.consequence and inside & set(one.waiting)]  # fmt: skip
        if (alone := _lone_side(states)) is not None:
            yield _left_the_path(case, alone, states)
            continue
        yield _round(case, RankSet(ranks), states)


def _round(case: Case, ranks: RankSet, states: list[CollectiveState]) -> Finding:
    """The circle, and the one rank that left what it used to do, if there is one."""
    odd, who = states[0].culprits, ranks_phrase(ranks)
    story = states[0].detail.partition("; ")[2]
    reasons = [Reason(story, "recorder")] if story else []
    reasons.extend(_leg(state) for state in states[:12])
    places = (site(case, state, state.waiting) for state in states[:4])
    reasons.extend(Reason(f"issued at {place}", "recorder") for place in dict.fromkeys(places) if place)
    messages = any(state.pair is not None for state in states)
    why = f", since {ranks_phrase(odd)} left the common path" if odd else ""
    concerned = odd or RankSet(list(ranks)[:64])
    return Finding(
        rule=RULE.id, cls="p2p-order-deadlock" if messages else RULE.cls, kind=Kind.CAUSE,
        certainty=at_most_likely(certainty(case)) if odd else certainty(case), ranks=odd,
        title=f"{who} wait for each other in {len(states)} calls: a deadlock{why}", because=tuple(reasons),
        processes=tuple(process for rank in concerned for process in case.of_rank(rank)), against=case.comparison.weak,
        next=look_next(case, RankSet(list(concerned)[:2])), collective=states[0],
    )  # fmt: skip


def _lone_side(states: list[CollectiveState]) -> CollectiveState | None:
    """Of two calls of the same ranks that wait for each other, the one in which a clear minority stands."""
    odd = states[0].culprits
    if len(states) != 2 or not odd or any(state.pair is not None for state in states):
        return None
    return next((state for state in states if not odd - state.waiting and not odd & state.missing), None)


def _left_the_path(case: Case, alone: CollectiveState, states: list[CollectiveState]) -> Finding:
    """A few ranks in one call and all others in another: the few took another branch."""
    common = next(state for state in states if state is not alone)
    odd = alone.culprits
    who, rest = ranks_phrase(odd), ranks_phrase(common.waiting - odd)
    against: tuple[str, ...] = (
        "both sides wait for each other: if all ranks make both calls, their order differs instead",
    )
    # The minority is not always wrong.
    sure, because = at_most_likely(certainty(case)), [_leg(state) for state in (common, alone)]
    if all(_used_to(case, rank, common, alone) for rank in odd):
        sure, against = certainty(case), ()
        text = f"until now, {who} too made {common.op} of the one group before each {alone.op} of the other"
        because.append(Reason(text, "recorder"))
    return Finding(
        rule=RULE.id, cls="collective-missed-by-rank", kind=Kind.CAUSE, certainty=sure,
        title=f"{who} left the common path: in {call(alone)}, while {rest} wait in {call(common)}",
        ranks=odd, processes=tuple(p for rank in odd for p in case.of_rank(rank)), because=tuple(because),
        against=(*against, *case.comparison.weak), next=look_next(case, odd), collective=common,
    )  # fmt: skip


def _used_to(case: Case, rank: int, first: CollectiveState, then: CollectiveState) -> bool:
    """Did a rank, as far as its recorder goes back, always make the one call right before the other?"""
    member = case.by_rank.get(rank)
    recorder = member.latest(Recorder) if member else None
    entries = recorder.entries[-512:] if recorder else ()
    rows = [
        (one.group, one.op, one.seq) for one in entries if one.group in (first.group, then.group) and not one.is_p2p
    ]
    before = [one[:2] for one, following in zip(rows, rows[1:])
              if following[:2] == (then.group, then.op) and following[2] != then.seq]  # fmt: skip
    return len(before) > 1 and set(before) == {(first.group, first.op)}


def _leg(state: CollectiveState) -> Reason:
    missing = f"; {ranks_phrase(state.missing)} {verb('have', len(state.missing))} not come" if state.missing else ""
    return Reason(f"{ranks_phrase(state.waiting)} {verb('are', len(state.waiting))} in {call(state)}{missing}",
                  "recorder")  # fmt: skip


RULE = make_rule(__name__, __doc__, "collective-cycle", 60, check)
