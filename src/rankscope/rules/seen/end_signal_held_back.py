"""A process was told to end, and keeps the signal back; its parent waits for its end.

## What it means
`Process.terminate()`, `docker stop` and launchers send SIGTERM. A process that has blocked it does not see it: a supervisor that
waits for signals itself (`sigwait`) blocks them first, and every child that it starts from then on, by fork or by exec, begins
with that mask.

## How it is recognised
In every look the kernel shows a signal that ends programs both as sent and as blocked by the main thread (`SigBlk`, and `ShdPnd`
or `SigPnd`, of `/proc/PID/status`), and another process has waited for the end of this one for longer than `--stuck-after`. A
program that takes its signals by `sigwait` or a signalfd has none of them waiting for long.

## What to do
`kill -KILL PID` ends it. In the child: `signal.pthread_sigmask(signal.SIG_SETMASK, [])` as the first thing it does.

## How to prevent it
Block signals after the children were started, or only around what must not be interrupted; start children through one that was
forked before (`forkserver`).

## Links
https://man7.org/linux/man-pages/man7/signal.7.html
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.waits.child import awaits_end
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.threads import Threads
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._say import stands, who

_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def check(case: Case) -> Iterator[Finding]:
    for member in case:
        held = _held_back(member)
        waits = [wait for wait in case.graph.to(member.ref) if held and case.stuck(wait.since_s)]
        ending = [case.standings[wait.waiter] for wait in waits if wait.waiter in case.standings]
        ending = [one for one in ending if awaits_end(one)]
        if not ending:
            continue
        first, names = ending[0], " and ".join(one.name for one in held)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{who(member.process)} was sent {names}, and blocks it; {who(first.member.process)} waits for its end",
            ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
            because=(Reason(f"the kernel shows {names} as sent and as blocked", "kernel", member.ref), stands(first),
                     Reason(f"somebody has waited for {span(max(one.since_s or 0.0 for one in waits))}", "kernel", member.ref)),
            next=(Step(f"grep -E 'Sig(Blk|Pnd)|ShdPnd' /proc/{member.ref.pid}/status", member.ref, "bit 15, 0x4000: SIGTERM"),
                  Step(f"kill -KILL {member.ref.pid}", member.ref)),
        )  # fmt: skip


def _held_back(member: Member) -> list[signal.Signals]:
    """The signals that end programs and wait in every look."""
    looks = member.over_time(Threads) if not member.dead else ()
    return [one for one in _END if looks and all(one in look.held_back for look in looks)]


RULE = make_rule(__name__, __doc__, "exit-hang", 27, check)
