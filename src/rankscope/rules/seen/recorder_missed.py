"""Ranks wait in a collective that another rank never issued.

## What it means
A collective ends when every member of its group has come. The flight recorders show which call is the first that did not
end, who issued it, and who did not: those ranks went another way, stopped, or are late.

## How it is recognised
Every rank's recorder is compared, group by group and over all groups at once: of all ranks that have not come, the one
that itself waits for nobody is named. Ranks that are late only because they wait elsewhere are not. The first call that
it would have had to issue is shown, with the last one it did issue. Where those who have not come make a group, the members
of that group who went on without them are named; and where most ranks wait for messages, or in a monitored barrier (which no
recorder holds), the few who went on without those. Nothing is said of who serves, in an event loop or by a thread that waits for
callers, and keeps the others in a broadcast: with the next request it comes, and hands that on. Of one that waits for a queue
or a socket meanwhile it is possible at most.

## What to do
Look at the stack of the named rank: what it does instead is the reason. Typical: a collective under a condition that only
some ranks meet, an exception that was caught, unequal numbers of batches.

## How to prevent it
No collective behind a rank-local condition: agree on the condition first. Let ranks without data take part with a dummy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...analysis.case import Case, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.group_makers import members as members_of
from ...analysis.load import STIRS, used_by_all
from ...analysis.orders import may_await_orders, serves
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, CollectiveState, Finding, Kind, Reason
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from .._say import at, stands
from ._recorder import absentees, at_most_likely, call, causes, certainty, last_done, look_next, place, waits

_NAMED = 4


def check(case: Case) -> Iterator[Finding]:
    for state in causes(case, "missing_rank"):
        culprits = absentees(case, state)
        if not culprits:
            continue  # they wait themselves, in something that recorders do not hold
        if _all_roots(case, culprits, serves):
            continue  # with their next request they will come
        may_come = _all_roots(case, culprits, may_await_orders)
        standings = [case.standings.get(process.ref) for rank in culprits for process in case.of_rank(rank)]
        if standings and all(standing is not None and advances(standing) for standing in standings):
            continue  # it is on its way: the rule about stragglers speaks
        reasons = [*waits(case, state), *filter(None, (last_done(case, state, rank) for rank in list(culprits)[:4]))]
        reasons.extend(place(case, culprits))
        busy = RankSet(rank for rank in culprits if _runs(case, rank))
        left = _without_them(state, standings)
        if not left:
            reasons.extend(_stand(standings, busy))
        reasons.extend(_own_waits(case, culprits))
        if state.detail:
            reasons.append(Reason(state.detail, "recorder"))
        few = len(state.waiting) < len(culprits)
        if left:
            yield _left_behind(case, state, left, reasons, standings)
            continue
        sure = at_most_likely(certainty(case)) if busy else certainty(case)
        less_sure = _less_sure(certainty(case))
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
            certainty=Certainty.POSSIBLE if may_come else less_sure if few or _await_messages(standings) else sure,
            title=f"{ranks_phrase(culprits)} never reached {call(state)}{', but runs on the CPU' if busy else ''}",
            ranks=culprits,
            processes=tuple(process for rank in culprits for process in case.of_rank(rank)), because=tuple(reasons),
            against=(*_doubts(state, busy, few=few, may_come=may_come), *case.comparison.weak), next=look_next(case, culprits),
            collective=state,
        )  # fmt: skip


def _all_roots(case: Case, culprits: RankSet, so: Callable[[Case, Root], bool]) -> bool:
    """Whether this is so of all who did not come, each of whom waits for nobody."""
    refs = [process.ref for rank in culprits for process in case.of_rank(rank)]
    roots = [case.graph.root(ref) for ref in refs]
    return bool(roots) and all(root is not None and so(case, root) for root in roots)


def _meet(standings: Sequence[Standing | None]) -> bool:
    """Whether all who did not come stand at one place of the job, where a group is made."""
    sites = {one.site if one is not None and one.kind is WaitKind.RENDEZVOUS else None for one in standings}
    return len(sites) == 1 and None not in sites


def _await_messages(standings: Sequence[Standing | None]) -> bool:
    """Whether all who did not come wait for messages: none of them is left to send one that another awaits."""
    return bool(standings) and all(one is not None and one.kind is WaitKind.P2P for one in standings)


def _watched(standings: Sequence[Standing | None]) -> bool:
    """Whether all who did not come stand in a monitored barrier, which all members of a group pass together."""
    return bool(standings) and all(one is not None and one.wait.op == "monitored_barrier" for one in standings)


def _without_them(state: CollectiveState, standings: Sequence[Standing | None]) -> RankSet:
    """Who went on although the others make a group with them, or exchange messages: who is not there, where they are fewer.

    Of a part of the ranks nobody else stops to make a group, so that as many on either side are enough.
    """
    if _await_messages(standings) or _watched(standings):
        return state.waiting if len(state.waiting) < len(standings) else RankSet()
    if not _meet(standings):
        return RankSet()
    everybody = RankSet(state.ranks)
    members = members_of(standings[0]) or everybody
    left = state.waiting & members
    most = len(standings) if members != everybody else len(standings) - 1
    return left if len(left) <= most else RankSet()


def _left_behind(
    case: Case, state: CollectiveState, few: RankSet, reasons: Sequence[Reason], standings: Sequence[Standing | None]
) -> Finding:
    """What the others are at takes the few as well, who went on without them."""
    does, doubt = _instead(state, standings, few)
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=_less_sure(certainty(case)),
        title=f"{ranks_phrase(few)} went on to {call(state)} while {ranks_phrase(state.missing)} {does}",
        ranks=few, processes=tuple(process for rank in few for process in case.of_rank(rank)),
        because=(*reasons, *_meanwhile(standings)), against=(doubt, *case.comparison.weak), next=look_next(case, few),
        collective=state,
    )  # fmt: skip


def _meanwhile(standings: Sequence[Standing | None]) -> Iterator[Reason]:
    """Where the first of those who did not come is: in its call, or where it makes a group, and of whom if that is read."""
    first = standings[0]
    if first is None or first.user_frame is None:
        return
    if not _meet(standings):
        yield stands(first)
        return
    of = f" of {ranks_phrase(members)}" if (members := members_of(first)) else ""
    yield Reason(
        f"rank {first.member.rank} makes a group{of} in {at(first.user_frame)}", "python-stack", first.member.ref
    )


def _instead(state: CollectiveState, standings: Sequence[Standing | None], few: RankSet) -> tuple[str, str]:
    """What those who did not come do, and why it may be right."""
    one = len(state.missing) == 1
    if _watched(standings):
        doubt = "those who wait may have a barrier too many, or one of a group that only they make"
        return f"{'stands' if one else 'stand'} in a monitored barrier", doubt
    if _await_messages(standings):
        return "wait for messages", "those who wait may have been the ones to exchange a message too many"
    doubt = "the group may be one that only those make who wait for it"
    return f"{'makes' if one else 'make'} a group with {'it' if len(few) == 1 else 'them'}", doubt


def _less_sure(found: Certainty) -> Certainty:
    """Where fewer came than did not, or those who did not wait for messages, it may be those who came that are wrong."""
    return Certainty.LIKELY if found is Certainty.CERTAIN else Certainty.POSSIBLE


def _stand(standings: Sequence[Standing | None], busy: RankSet) -> Iterator[Reason]:
    """Where the first of those who did not come stand still."""
    for one in standings[:_NAMED]:
        if one is not None and one.user_frame is not None and one.member.rank not in busy:
            yield stands(one)


def _own_waits(case: Case, culprits: RankSet) -> Iterator[Reason]:
    """What a rank at fault itself waits for, where that can come from nobody."""
    ranks = {process.ref: rank for rank in culprits for process in case.of_rank(rank)}
    for wait in case.graph.waits:
        if wait.target is None and wait.waiter in ranks:
            yield Reason(f"rank {ranks[wait.waiter]} stands in a {wait.why}", "python-stack", wait.waiter)


def _doubts(state: CollectiveState, busy: RankSet, *, few: bool, may_come: bool) -> Iterator[str]:
    if may_come:
        yield "the others wait in the broadcast with which a server hands on its requests: there may be none at the moment"
    if few:
        yield f"only {ranks_phrase(state.waiting)} issued it: it may be a call too many there"
    if busy:
        uses, it = ("uses", "it") if len(busy) == 1 else ("use", "they")
        yield f"{ranks_phrase(busy)} {uses} the CPU: what {it} {'does' if it == 'it' else 'do'} may be long, and end yet"


def _runs(case: Case, rank: int) -> bool:
    """Whether the rank's process uses the CPU, more than threads of libraries that only tick."""
    member = case.by_rank.get(rank)
    return member is not None and used_by_all(member) > STIRS


RULE = make_rule(__name__, __doc__, "collective-missed-by-rank", 60, check)
