"""Every member issued the same call, and none finished it.

## What it means
The program did what it should: all ranks came, with equal arguments. What does not end is below it: a network path, a device, a
driver, the communication library, or a rank whose device still runs something else.

## How it is recognised
At the first call that did not end, the recorders of all members agree, and no member has anything unfinished before it. Where
they tell that a device began a call (`TORCH_NCCL_ENABLE_TIMING`), the few whose device did not are named.

## What to do
Ask the library (`NCCL_DEBUG`, RAS on port 28028), look at NIC and GPU counters and at the native stack of one rank; run
`all_reduce_perf` of nccl-tests over pairs of the group's hosts to find the pair that cannot talk. With gloo, look at the native
stacks and at the connections of a rank (`ss -tnpi`).

## How to prevent it
Test the nodes before a run; watch link and ECC counters; set a time-out for each process group.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.own_age import own_s
from ...model.diagnosis import Certainty, CollectiveState, Finding, Kind, Reason, Step
from ...model.evidence.recorder import Recorder
from ...model.process import ProcessRef
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from ._recorder import at_most_likely, call, causes, certainty, look_next, place, roots_noted, roots_passed, waits


def check(case: Case) -> Iterator[Finding]:
    for state in causes(case, "stuck_in_flight"):
        if len(roots_noted(case, state)) > 1 or len(roots_passed(case, state)) > 1:
            continue  # they differ after all, in what recorders do not hold
        if state.culprits:
            yield _held_by_its_device(case, state)
            continue
        reasons = (Reason(f"all of {ranks_phrase(state.arrived)} issued {call(state)}, with equal arguments", "recorder"),
                   *list(waits(case, state))[:2])  # fmt: skip
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=_sure(case, state),
            title=f"{call(state)} was issued by every member and does not end: look below the program", because=reasons,
            against=("recorders hold neither root nor reduction: a call that differs only there looks the same",
                     *_ending(case, state), *_aside(case, state), *case.comparison.weak),
            next=_look_below(case, state), collective=state,
        )  # fmt: skip


def _ending(case: Case, state: CollectiveState) -> tuple[str, ...]:
    """Members of a saved case that are through: a call of which one has its result is rather ending than stuck."""
    through = state.arrived - state.waiting if state.waiting and not case.snapshot.live else RankSet()
    return (
        (f"{ranks_phrase(through)} {verb('are', len(through))} through it: it may only have been ending",)
        if through
        else ()
    )


def _sure(case: Case, state: CollectiveState) -> Certainty:
    """How sure it is that a call does not end."""
    return Certainty.POSSIBLE if _ending(case, state) or _aside(case, state) else at_most_likely(certainty(case))


def _aside(case: Case, state: CollectiveState) -> tuple[str, ...]:
    """Ranks outside the group that have long stood elsewhere and are not known to wait: what keeps them may be why."""
    held = RankSet(rank for one in case.comparison.states for rank in one.waiting) | RankSet(state.ranks)
    ranks = RankSet(rank for rank in case.ranks - held if _stands_alone(case, rank))
    verb = "stands elsewhere and is" if len(ranks) == 1 else "stand elsewhere and are"
    return (f"{ranks_phrase(ranks)} {verb} not known to wait for this group: why may be told by that",) if ranks else ()


def _stands_alone(case: Case, rank: int) -> bool:
    member = case.by_rank.get(rank)
    one = case.standings.get(member.ref) if member is not None else None
    return one is not None and case.stuck(own_s(one)) and not case.graph.by_waiter.get(one.member.ref)


def _look_below(case: Case, state: CollectiveState) -> tuple[Step | str, ...]:
    """How to look below the program, with the tools of the library that the group uses."""
    if _backend(case, state).startswith("gloo"):
        member = next((case.by_rank[rank] for rank in state.waiting if rank in case.by_rank), None)
        native = (
            (Step(f"rankscope stacks pid:{member.ref.pid} --native", member.ref),)
            if member and case.snapshot.live
            else ()
        )
        return (
            *native,
            "ss -tnpi   # on the hosts of this group: connections that do not get on",
            "TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_CPP_LOG_LEVEL=INFO   # in the next run",
        )
    return ("all_reduce_perf -b 8 -e 1G -f 2   # of nccl-tests, on the hosts of this group",
            "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET   # in the next run")  # fmt: skip


def _backend(case: Case, state: CollectiveState) -> str:
    """The library that the recorder of a waiting rank names for the group, empty where none does."""
    for rank in state.waiting:
        recorder = case.by_rank[rank].latest(Recorder) if rank in case.by_rank else None
        for entry in reversed(recorder.entries[-512:] if recorder else ()):
            if entry.group == state.group:
                return entry.backend
    return ""


def _held_by_its_device(case: Case, state: CollectiveState) -> Finding:
    """The devices of all other members began the call: these still work on something before it."""
    who = ranks_phrase(state.culprits)
    reasons = (Reason(f"the devices of {ranks_phrase(state.waiting - state.culprits)} began {call(state)}", "recorder"),
               *list(waits(case, state))[:2], *place(case, state.culprits))  # fmt: skip
    return Finding(
        rule=RULE.id, cls="gpu-kernel-hang", kind=Kind.CAUSE, certainty=at_most_likely(certainty(case)),
        title=f"the device of {who} never began {call(state)}, which all members issued: what came before holds it",
        ranks=state.culprits, processes=tuple(p for rank in state.culprits for p in case.of_rank(rank)), because=reasons,
        against=("work of other streams on that device shows nowhere in recorders", *case.comparison.weak),
        next=(*_device(case, state.culprits), *look_next(case, state.culprits)),
        collective=state,
    )  # fmt: skip


def _device(case: Case, ranks: RankSet) -> Iterator[Step]:
    """On each of their hosts, whether the devices of these ranks are at work."""
    by_host: dict[str, list[int]] = {}
    for rank in ranks:
        if rank in case.by_rank:
            by_host.setdefault(case.by_rank[rank].ref.host, []).append(rank)
    for host, theirs in by_host.items():
        who = ranks_phrase(RankSet(theirs))
        yield Step("nvidia-smi", ProcessRef(host, 0), f"on the host of {who}: is its device at work?")


RULE = make_rule(__name__, __doc__, "stuck-below-program", 60, check, yields_to=("groups-made-at-odds",))
