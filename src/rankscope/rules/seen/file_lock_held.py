"""A process waits for a file lock that a living process outside the job holds, or that it holds itself.

## What it means
`flock` or `fcntl` locks are held by a process, not by a file: somebody else (another job on a shared cache, a helper that was
left behind, an editor) has locked the file and does not let go; it may be stopped or frozen. And who opens a file twice and
takes its `flock` by both descriptors waits for itself, as two libraries do that each lock one cache.

## How it is recognised
The kernel's list of locks (/proc/locks) shows the waiter under the line of the holder, and the holder's state is what the
kernel says. A holder inside the job is named here only where its stack could not be read; else what it does itself is the
answer. Where whoever took the lock has ended, or has closed the file, and another process has it only because it inherited the
open file, the lock was left behind. A process that waits for itself has no other thread at work that could let go. Holders in
another container or on another host are not in that list, or bear no number there: then only the waiting is seen.

## What to do
Look at the holder (`ps -fp PID`; one that cannot be seen here shows `sudo cat /proc/locks` on the host itself, outside all
containers); wait for it, let it go on (`kill -CONT PID`, `echo 0 > cgroup.freeze`), or end it if it was left behind. For a lock
of its own: the stack shows the inner place that takes it, and the outer one that has it.

## How to prevent it
A cache directory per job; locks with a time-out; no lock held over long work; one library and one object per lock file.
flock(2): locks by two descriptors of one file conflict, whoever has them open.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.progress import works
from ...analysis.standing import Standing
from ...analysis.threads import possible_holders, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.blocked import Blocked, HeldLock
from ...model.process import Process, ProcessRef, Role
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._say import ranks_of, stands, who


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values():
        member = standing.member
        blocked = member.latest(Blocked)
        for lock in blocked.locks if blocked and not member.gone else ():
            outside = [pid for pid in lock.holders if (member.ref.host, pid) not in case.by_pid]
            if lock.asked or not case.stuck(standing.still_s):
                continue
            if lock.inherited and lock.holders and not outside and member.ref.pid not in lock.holders:
                yield from _left_behind(case, standing, lock)
            if not outside:
                continue
            holder = f"pid {outside[0]}" + (f" ({lock.holder_name})" if lock.holder_name else "")
            halted = lock.holder_halted if outside[0] == lock.holders[0] else ""
            how = f": it is {halted}" if halted else ""
            keeper = Process(ProcessRef(member.ref.host, outside[0]), Role.OTHER, comm=lock.holder_name)
            yield Finding(
                rule=RULE.id, cls=_class(lock, bool(halted)), kind=Kind.CAUSE, certainty=Certainty.CERTAIN,
                title=f"{who(member.process)} waits for the {lock.kind} lock on {lock.path}, held by {holder} outside the job"
                      f"{how}",
                ranks=RankSet() if halted else ranks_of(standing), processes=(*([keeper] if halted else []), member.process),
                because=(Reason(f"/proc/locks names {holder} as the holder{how}", "locks", member.ref),
                         *([Reason(_LEFT, "locks", member.ref)]
                           if lock.inherited else []),
                         Reason(f"it has waited for {span(standing.still_s)}", "kernel", member.ref)),
                next=(Step(f"ps -fp {outside[0]}", member.ref),
                      *([Step(f"kill -CONT {outside[0]}", member.ref)] if halted == "stopped" else [])),
            )  # fmt: skip
    yield from _out_of_sight(case)
    yield from _own(case)
    yield from _closed(case)


_LEFT = "whoever took the lock has ended, or closed the file: its holder inherited that"


def _left_behind(case: Case, standing: Standing, lock: HeldLock) -> Iterator[Finding]:
    """A member of the job has it only by the open file that it got from whoever took it. One that works may have been given the
    lock on purpose."""
    heir, member = case.by_pid[standing.member.ref.host, lock.holders[0]], standing.member
    holder = case.standings[heir.ref]
    if works(holder) or (holder.ran and holder.kind is not WaitKind.SLEEP):
        return
    yield Finding(
        rule=RULE.id, cls="file-lock-stale", kind=Kind.CAUSE, certainty=Certainty.POSSIBLE,
        title=f"{who(member.process)} waits for the {lock.kind} lock on {lock.path}, which {who(heir.process)} keeps: it has the "
              "open file of another one",
        ranks=ranks_of(standing), processes=(heir.process, member.process),
        because=(Reason(_LEFT, "locks", member.ref), stands(standing)),
        against=("it may have been given the lock on purpose, together with the file",),
        next=(Step(f"ls -l /proc/{heir.ref.pid}/fd", heir.ref),
              "unlock before the file is closed (LOCK_UN), or start helpers with close_fds=True"),
    )  # fmt: skip


def _class(lock: HeldLock, halted: bool) -> str:
    """A holder that may not run is to blame for that; a lock that outlived whoever took it was left behind."""
    return "process-stopped" if halted else "file-lock-stale" if lock.inherited else RULE.cls


def _out_of_sight(case: Case) -> Iterator[Finding]:
    """Who waits for a lock whose holder cannot be seen from where we look."""
    for standing in case.standings.values():
        member = standing.member
        blocked = member.latest(Blocked)
        for lock in blocked.locks if blocked and not member.gone and case.stuck(standing.still_s) else ():
            if lock.asked or lock.holders:
                continue
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
                title=f"{who(member.process)} waits for the {lock.kind} lock on {lock.path}, held by somebody who cannot be seen "
                      "from here (another container or host)", ranks=ranks_of(standing), processes=(member.process,),
                because=(Reason("/proc/locks names no process as the holder", "locks", member.ref), stands(standing)),
                next=(Step("sudo cat /proc/locks", ProcessRef(member.ref.host, 0), "on the host itself, outside all containers"),
                      Step(f"df -T {shlex.quote(lock.path)}", member.ref, "nfs and the like: look on the other hosts as well")),
            )  # fmt: skip


def _own(case: Case) -> Iterator[Finding]:
    """Who waits for a lock that it has by another descriptor, with nobody in its process who could let go."""
    for standing in case.standings.values():
        member = standing.member
        blocked = member.latest(Blocked)
        for lock in blocked.locks if blocked and not member.gone and case.stuck(standing.still_s) else ():
            beside = tuple(view for view in views(member) if view.python is not standing.thread)
            if lock.asked or set(lock.holders) != {member.ref.pid} or possible_holders(beside):
                continue
            yield Finding(
                rule=RULE.id, cls="lock-order-deadlock", kind=Kind.CAUSE, certainty=Certainty.LIKELY,
                title=f"{who(member.process)} waits for the {lock.kind} lock on {lock.path}, which it holds itself by another "
                      "descriptor", ranks=ranks_of(standing), processes=(member.process,),
                because=(Reason("/proc/locks names the process itself as the holder", "locks", member.ref), stands(standing)),
                next=(Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref),
                      Step(f"ls -l /proc/{member.ref.pid}/fd", member.ref)),
            )  # fmt: skip


def _closed(case: Case) -> Iterator[Finding]:
    """Holders inside the job of whom nothing but their locks can be seen (no right to read their stacks); each once."""
    told: set[ProcessRef] = set()
    for standing in case.standings.values():
        blocked = standing.member.latest(Blocked)
        for lock in blocked.locks if blocked and not standing.member.gone and case.stuck(standing.still_s) else ():
            for pid in lock.holders if not lock.asked else ():
                member = case.by_pid.get((standing.member.ref.host, pid))
                holder = case.standings.get(member.ref) if member is not None else None
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
                    next=(Step(f"sudo -E rankscope stacks pid:{pid}", holder.member.ref),
                          Step(f"ps -fp {pid}", holder.member.ref)),
                )  # fmt: skip


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 21, check)
