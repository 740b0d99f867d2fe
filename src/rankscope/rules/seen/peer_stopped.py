"""A process of the job waits for an answer of a program beside the job that is stopped.

## What it means
The other end of a pipe or connection belongs to a process that is no part of this job: a parameter server, a data service, a
helper started by hand. It was stopped (SIGSTOP, Ctrl-Z, a debugger). Its connections stay open, so whoever asks it waits without
an error.

## How it is recognised
A thread (the main one, or one for which the main one waits) has waited for longer than `--stuck-after` on one descriptor; the
process that holds its other end is in state T or t for the kernel.

## What to do
`kill -CONT PID` lets it go on; end the debugger that holds it; start the service anew where it is to be replaced.

## How to prevent it
Time-outs on everything outside the job; services that run under a supervisor.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.outsiders import Outsider
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from .._outside import behind_threads, outsiders, process_of, said
from .._say import stands, who


def check(case: Case) -> Iterator[Finding]:
    waiting: dict[tuple[str, int], list[tuple[Standing, Outsider]]] = {}
    for standing in case.standings.values():
        if standing.member.gone or not case.stuck(standing.still_s):
            continue
        for one in (*outsiders(case, standing), *behind_threads(case, standing)):
            if one.state in ("T", "t"):
                waiting.setdefault((standing.member.ref.host, one.pid), []).append((standing, one))
    for found in waiting.values():
        first, peer = found[0]
        ranks = RankSet(standing.member.rank for standing, _ in found if standing.member.rank is not None)
        whom = ranks_phrase(ranks) if ranks else who(first.member.process)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{whom} {'wait' if len(ranks) > 1 else 'waits'} for {said(peer)}: it is stopped",
            processes=(process_of(first, peer), *(standing.member.process for standing, _ in found)),
            because=(Reason(f"the kernel shows state {peer.state} for pid {peer.pid}, which holds the other end", "kernel"),
                     *(stands(standing) for standing, _ in found[:4])),
            next=(Step(f"ps -o pid,ppid,user,stat,args -p {peer.pid}", standing.member.ref),
                  Step(f"kill -CONT {peer.pid}", standing.member.ref)),
        )  # fmt: skip


RULE = make_rule(__name__, __doc__, "process-stopped", 11, check)
