"""No rank moves, and nothing that was seen says why.

## What it means
All ranks stand still and none of them waits for another one: each waits for something outside of the job's own calls, such as
an answer from a server, a batch, a key or an order. A job that hangs looks like this, and so does one that has nothing to do.
Which of the two it is only those who run it can say, so that nobody is accused.

## How it is recognised
Between the looks no rank has left its place, and nobody is waited for. Told are the rank that has stood longest, where it
stands, and for how long; once all have stood for longer than `--stuck-after`, the exit code is 3. Where not all ranks of the
job were looked at, whoever is waited for may be among the others; where ranks wait on a pipe or connection whose other end a
process of this host has that is no part of the job, such as a server, that process is named.

## What to do
Read the lines that are shown, and look at the process beside the job that is named. Where fewer ranks were seen than the job
has, look at all of its hosts at once. A rank that runs, and is found in the same call with the same values, tells no age: look at
it for longer, with more sweeps further apart.

## How to prevent it
A flight recorder that is on (`TORCH_FR_BUFFER_SIZE=2000`, before its renaming `TORCH_NCCL_TRACE_BUFFER_SIZE`; on by default
since torch 2.11) tells a call that does not end from one that nobody has made;
time-outs on everything outside the job.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.standing import Standing
from ...analysis.stillness import longest, still_ranks
from ...model.diagnosis import Certainty, Finding, Kind, State, Step
from ...model.evidence.outsiders import Outsider
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from .._outside import outsiders, process_of, said
from .._say import stands


def check(case: Case) -> Iterator[Finding]:
    ranks = still_ranks(case) if case.snapshot.live and case.state is State.UNKNOWN else ()
    first = longest(ranks)
    if first is None or any(root.waiters and case.stuck(root.age_s) for root in case.graph.roots):
        return  # who is waited for is told by who waits
    seen = RankSet(one.member.rank for one in ranks if one.member.rank is not None)
    unseen = RankSet(range(case.world_size or 0)) - case.ranks
    others = f", and {ranks_phrase(unseen)} {verb('were', len(unseen))} not looked at" if unseen else ""
    whole = f"{ranks_phrase(seen)} stand still{others}; the longest" if len(ranks) > 1 else f"nothing moves{others}"
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.POSSIBLE,
        title=f"{whole}: {stands(first).text}",
        processes=(first.member.process,), because=tuple(map(stands, ranks[:_NAMED])), next=tuple(_steps(ranks, unseen)),
    )  # fmt: skip
    yield from _served_by(case, ranks)


_NAMED = 3


def _served_by(case: Case, ranks: tuple[Standing, ...]) -> Iterator[Finding]:
    """Who beside the job is at the other end of what its ranks wait on: the next place to look."""
    asked: dict[int, tuple[Outsider, list[Standing]]] = {}
    for one in ranks:
        for other in outsiders(case, one):
            asked.setdefault(other.pid, (other, []))[1].append(one)
    for other, askers in sorted(asked.values(), key=lambda found: -len(found[1]))[:_NAMED]:
        who = RankSet(one.member.rank for one in askers if one.member.rank is not None)
        verb = "waits" if len(who) == 1 else "wait"
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.POSSIBLE,
            title=f"{ranks_phrase(who)} {verb} on a pipe or connection whose other end has {said(other, *askers)}",
            processes=(process_of(askers[0], other),), because=tuple(map(stands, askers[:_NAMED])),
            next=(Step(f"rankscope diagnose pid:{other.pid}", askers[0].member.ref),),
        )  # fmt: skip


def _steps(ranks: tuple[Standing, ...], unseen: RankSet) -> Iterator[str]:
    if unseen:
        yield f"rankscope diagnose ssh:HOSTS   # or slurm:JOBID: with the hosts of {ranks_phrase(unseen)}"
    yield "rankscope stacks --source"
    if any(one.ran for one in ranks):
        yield "rankscope diagnose --sweeps 4 --interval 10   # a rank that runs in its call tells no age"


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 95, check)
