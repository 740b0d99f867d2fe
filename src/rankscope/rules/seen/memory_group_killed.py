"""The kernel killed a process of the job because its control group ran out of memory.

## What it means
A container, a Slurm step or a systemd unit bounds the memory of all its processes together. When the bound is reached the
kernel kills one of them with SIGKILL; often it is a loader worker. It cannot say a word, and who needs its answer waits.

## How it is recognised
A process of the job is dead (a zombie, or gone between two looks), did not end in another way than by SIGKILL, and its
control group counts `oom_kill` (memory.events, version 1: memory.oom_control). The count has no time: an earlier kill in a
group that was used before looks the same, so it is *certain* only where it grew while we looked. Where the kernel's log may be
read, its `Killed process PID` of this very process, after the job began, is certain as well.

## What to do
`dmesg -T | grep -i 'killed process'` names the victim. Raise the limit (`--mem`, `resources.limits.memory`), use fewer loader
workers, smaller prefetch, no copy of the data set per process.

## How to prevent it
Watch the use of the group against its limit; leave room for the moment when all loaders start.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.cgroup import ControlGroup
from ...model.process import Role
from ...model.ranks import RankSet
from ...model.words import counted
from .. import make_rule
from .._death import ended, kill_line, killed, oom_kills
from .._say import waited_for, who


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live:
        return
    for member in case:
        if member.role is Role.HELPER or not member.dead or killed(member) is False:
            continue
        found = oom_kills(case, member)
        line = kill_line(case, member)
        if line is not None:
            yield _told(case, member, line, found)
        elif found is not None:
            yield _finding(case, member, *found)


def _told(case: Case, member: Member, line: str, found: tuple[ControlGroup, int] | None) -> Finding:
    """The kernel names the victim itself."""
    root = case.graph.root(member.ref)
    owner = _owner(case, member)
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.CERTAIN,
        title=f"{who(member.process)} was killed by the kernel because memory ran out",
        ranks=RankSet([owner.rank] if owner.rank is not None else []),
        processes=(member.process, *((owner.process,) if owner is not member else ())),
        because=(Reason(f"it {ended(member)}", "kernel", member.ref),
                 *((Reason(_says(*found), "cgroup", member.ref),) if found is not None else ()),
                 Reason(f"kernel log: {line}", "kernel-log", member.ref), *(waited_for(root) if root else ())),
        next=(_kernel_log(member),),
    )  # fmt: skip


def _finding(case: Case, member: Member, group: ControlGroup, grown: int) -> Finding:
    root = case.graph.root(member.ref)
    owner = _owner(case, member)
    sure = Certainty.CERTAIN if grown > 0 else Certainty.LIKELY if killed(member) else Certainty.POSSIBLE
    against = (
        () if grown > 0 else ("the count has no time: an earlier process of this group may be the one that was killed",)
    )
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=sure,
        title=f"{who(member.process)} was killed because the memory of its control group ran out",
        ranks=RankSet([rank] if (rank := owner.rank) is not None else []),
        processes=(member.process, *((owner.process,) if owner is not member else ())),
        because=(Reason(f"it {ended(member)}", "kernel", member.ref), Reason(_says(group, grown), "cgroup", member.ref),
                 *(waited_for(root) if root else ())),
        against=against,
        next=(_kernel_log(member), Step(f"cat {_file(group)}", member.ref)),
    )  # fmt: skip


def _kernel_log(member: Member) -> Step:
    return Step("dmesg -T | grep -i -e oom -e 'killed process' | tail", member.ref)


def _file(group: ControlGroup) -> str:
    if group.version == 1:
        return f"/sys/fs/cgroup/memory{group.path}/memory.oom_control"
    return f"/sys/fs/cgroup{group.path}/memory.events"


def _owner(case: Case, member: Member) -> Member:
    """The rank that the dead one served: itself, its owner or its parent."""
    if member.rank is not None:
        return member
    above = (one for one in case if one.ref.host == member.ref.host and one.ref.pid == member.process.parent)
    return next(above, member)


def _says(group: ControlGroup, grown: int) -> str:
    limit = f", limit {group.limit_bytes >> 20} MiB" if group.limit_bytes is not None else ""
    reached = f" reached {counted(group.reached, 'time')}" if limit and group.reached > 0 else ""
    more = f", {grown} of them while we looked" if grown > 0 else ""
    return f"control group {group.path} counts {counted(group.oom_kills, 'process')} killed for memory{more}{limit}{reached}"


RULE = make_rule(__name__, __doc__, "oom-kill", 9, check)
