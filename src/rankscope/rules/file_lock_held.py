"""A process waits for a file lock that a living process outside the job holds.

## What it means
`flock` or `fcntl` locks are held by a process, not by a file: somebody else (another job on a shared cache, a helper that was
left behind, an editor) has locked the file and does not let go.

## How it is recognised
The kernel's list of locks (/proc/locks) shows the waiter under the line of the holder.

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
            if not outside or not case.stuck(standing.still_s):
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


RULE = Rule(id="file-lock-held", cls="rank-stuck-in-user-code", check=check, page=__doc__ or "", order=21)
