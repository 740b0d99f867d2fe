"""A process waits for a file lock that a living process outside the job holds.

## What it means
`flock` or `fcntl` locks are held by a process, not by a file: somebody else (another job on a shared cache, a helper that was
left behind, an editor) has locked the file and does not let go.

## How it is recognised
The kernel's list of locks (/proc/locks) shows the waiter under the line of the holder. A holder inside the job is named here
only where its stack could not be read; else what it does itself is the answer.

## What to do
Look at the holder (`ps -fp PID`); wait for it, or end it if it was left behind.

## How to prevent it
A cache directory per job; locks with a time-out; no lock held over long work.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.evidence.blocked import Blocked
from ..model.process import ProcessRef
from ..model.words import span
from . import Rule
from ._say import ranks_of, who


def check(case: Case) -> Iterator[Finding]:
    pids = {(ref.host, ref.pid) for ref in case.by_ref}
    for standing in case.standings.values():
        member = standing.member
        blocked = member.latest(Blocked)
        for lock in blocked.locks if blocked and not member.gone else ():
            outside = [pid for pid in lock.holders if (member.ref.host, pid) not in pids]
            if lock.asked or not outside or not case.stuck(standing.still_s):
                continue
            holder = f"pid {outside[0]}" + (f" ({lock.holder_name})" if lock.holder_name else "")
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.CERTAIN,
                title=f"{who(member.process)} waits for the {lock.kind} lock on {lock.path}, held by {holder} outside the job",
                ranks=ranks_of(standing), processes=(member.process,),
                because=(Reason(f"/proc/locks names {holder} as the holder", "locks", member.ref),
                         Reason(f"it has waited for {span(standing.still_s)}", "kernel", member.ref)),
                next=(f"ps -fp {outside[0]}",),
            )  # fmt: skip
    yield from _closed(case)


def _closed(case: Case) -> Iterator[Finding]:
    """Holders inside the job of whom nothing but their locks can be seen (no right to read their stacks); each once."""
    told: set[ProcessRef] = set()
    for standing in case.standings.values():
        blocked = standing.member.latest(Blocked)
        for lock in blocked.locks if blocked and not standing.member.gone and case.stuck(standing.still_s) else ():
            for pid in lock.holders if not lock.asked else ():
                holder = next((one for one in case.standings.values() if one.member.ref.pid == pid), None)
                if holder is None or holder.thread is not None or holder.member.gone or holder.member.ref in told:
                    continue
                told.add(holder.member.ref)
                yield Finding(
                    rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
                    title=f"{who(standing.member.process)} waits for the {lock.kind} lock on {lock.path}, held by "
                          f"{who(holder.member.process)}", ranks=ranks_of(holder),
                    processes=(holder.member.process, standing.member.process),
                    because=(Reason(f"/proc/locks names pid {pid} as the holder; its stack could not be read", "locks",
                                    holder.member.ref),
                             Reason(f"it has waited for {span(standing.still_s)}", "kernel", standing.member.ref)),
                    next=(f"sudo -E rankscope stacks pid:{pid}", f"ps -fp {pid}"),
                )  # fmt: skip


RULE = Rule(id="file-lock-held", cls="rank-stuck-in-user-code", check=check, page=__doc__ or "", order=21)
