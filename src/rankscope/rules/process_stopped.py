"""A process of the job is stopped, traced or frozen.

## What it means
Somebody or something outside the program has halted one of its processes: SIGSTOP or Ctrl-Z, a debugger or tracer that holds
it, a scheduler that suspended the job, or a frozen cgroup. It will not go on by itself, and everybody who needs it waits.

## How it is recognised
The kernel shows state T (stopped) or t (held by a tracer), or the cgroup is frozen. Being traced alone (strace watching a
running program) is not this.

## What to do
`kill -CONT PID` lets a stopped process go on. End or detach the tracer (its pid is in the report). Thaw the cgroup
(`echo 0 > cgroup.freeze`, or `scontrol resume JOBID`). A SIGSTOP that a killed debugger left behind is ended by SIGCONT too.

## How to prevent it
Use tools that do not stop a process in state D and that detach when they are killed; do not suspend single ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case, Member
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.evidence.threads import Threads
from ..model.process import Role
from ..model.ranks import RankSet
from . import Rule
from ._say import name, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    roots = {root.ref: root for root in case.graph.roots}
    for member in case:
        kernel = member.latest(Threads)
        # A running program under strace is held for an instant at each call: only one that never ran is stopped.
        looks = member.over_time(Threads)
        ran = case.standings[member.ref].ran
        how = _halted(kernel) if kernel and not member.gone and not ran and all(map(_halted, looks)) else None
        if how is None or member.role is Role.HELPER:
            continue
        root = roots.get(member.ref)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.CERTAIN if root else Certainty.LIKELY,
            title=f"{who(member.process)} is {how}", ranks=RankSet([member.rank] if member.rank is not None else []),
            processes=(member.process,),
            because=(Reason(f"the kernel shows state {_states(kernel)} for {name(case, member.ref)}", "kernel", member.ref),
                     *(waited_for(root) if root else ())),
            next=(_next(member, kernel, how),),
        )  # fmt: skip


def _halted(kernel: Threads) -> str | None:
    states = {task.state for task in kernel.threads if task.state not in "ZX"}
    if kernel.frozen:
        return "frozen by its cgroup"
    if states and states <= {"T", "t"}:
        if kernel.tracer:
            return f"stopped and held by tracer pid {kernel.tracer}"
        return "stopped"
    return None


def _states(kernel: Threads | None) -> str:
    return "/".join(sorted({task.state for task in kernel.threads})) if kernel else "?"


def _next(member: Member, kernel: Threads | None, how: str) -> str:
    if "cgroup" in how:
        return f"cat /proc/{member.ref.pid}/cgroup        # then write 0 to its cgroup.freeze (v1: THAWED to freezer.state)"
    if kernel and kernel.tracer:
        return f"ps -o pid,user,etime,args -p {kernel.tracer}        # then end it or let it detach"
    return f"kill -CONT {member.ref.pid}"


RULE = Rule(id="process-stopped", cls="process-stopped", check=check, page=__doc__ or "", order=10)
