"""Ranks wait at the meeting point for a program that is no store: a stranger listens there.

## What it means
The port of the store belongs to a program of another kind, which takes the connection and says nothing, since it waits for
words of its own protocol. Where the launcher is to hold the store (or another host's rank 0), no rank fails to bind the port,
so that nobody is told.

## How it is recognised
Every rank that was seen stands in the meeting and reads from a connection of which a process beside the job holds the other
end; that process is not stopped, and does not answer rankscope either when it is asked as a store is. A store answers from a
thread of its own, whatever its program does.

## What to do
`ss -ltnp | grep :PORT` and `ps -fp PID` show the stranger; end it if it was left behind, or take another `MASTER_PORT`.

## How to prevent it
On one node a free port (`torchrun --standalone`); else a range that the machine gives to nobody else
(`sysctl net.ipv4.ip_local_reserved_ports=29400-29600`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.gap import Why
from ...model.process import Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from .._outside import outsiders, process_of, said
from .._say import stands


def check(case: Case) -> Iterator[Finding]:
    silent = next((gap for gap in case.snapshot.gaps if gap.what == "store" and gap.why is Why.TIMEOUT), None)
    ranks = [one for one in case.standings.values() if one.member.role is Role.RANK and not one.member.gone]
    if silent is None or not ranks or not all(one.kind in (WaitKind.RENDEZVOUS, WaitKind.STORE) for one in ranks):
        return
    found = [(one, other) for one in ranks for other in outsiders(case, one) if other.state in ("S", "R")]
    reached = {one.member.ref for one, _ in found}
    strangers = {(one.member.ref.host, other.pid) for one, other in found}
    old = [one for one in ranks if case.stuck(one.still_s)]
    if len(strangers) != 1 or len(reached) != len(ranks) or not old:
        return
    first, stranger = found[0]
    numbers = RankSet(one.member.rank for one in ranks if one.member.rank is not None)
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{ranks_phrase(numbers)} {verb('wait', len(numbers))} at the meeting point for {said(stranger)} "
              "and does not answer as a store",
        processes=(process_of(first, stranger), *(one.member.process for one in ranks)),
        because=(Reason(silent.detail, "store"), *(stands(one) for one in old[:4])),
        next=(Step(f"ps -o pid,ppid,user,stat,args -p {stranger.pid}", first.member.ref),
              Step("ss -ltnp", first.member.ref)),
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "rendezvous-port", 24, check)
