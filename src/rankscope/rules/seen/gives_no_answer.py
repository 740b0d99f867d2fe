"""The process that the others wait for did not answer when it was looked at.

## What it means
The others wait for it, and of all of them this one could not be read: a read from /proc stood still, its memory was out of
bounds, or its interpreter is of a kind that is not known. Where a read stands still, a thread of that process holds the lock
of its memory map for as long, mostly because a page of a file does not come: a file system that does not answer, or a driver.

## How it is recognised
The chain of waits ends there and has stood for longer than `--stuck-after`; there is no stack of it, and the looking left a
gap with its reason. Nobody saw what it does, so that this is *possible* at most.

## What to do
`cat /proc/PID/stat` and `/proc/PID/wchan` answer even then: state D names a device or a file system (`dmesg`, `df` on its
mounts). Where the reason is another one, the gap says what would help: the right to look, or another engine.

## How to prevent it
Mount with limits for what may not answer (`soft`, `timeo` of NFS); keep data that is mapped into memory on a local disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.awaited import hidden, is_python
from ...analysis.case import Case
from ...analysis.progress import works
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.gap import Gap, Why
from ...model.process import Role
from .. import make_rule
from .._say import old_roots, ranks_of, waited_for, who

# What tells where a process stands; who lacks another record was still seen.
_STANDS = ("process", "threads", "python-stacks")
# Reasons that say "it did not speak to us", not that there was nobody to ask, or nothing to ask with.
_SILENT = (Why.BLOCKED, Why.TIMEOUT, Why.FAILED, Why.DAMAGED, Why.UNKNOWN_LAYOUT)


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        gaps = _gaps(case, standing)
        if not root.waiters or not gaps or not case.stuck(root.age_s) or _seen(standing):
            continue
        process, ref = standing.member.process, standing.member.ref
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE,
            title=f"{who(process)} gave no answer: {_reason(gaps[0])}; its peers wait for it",
            ranks=ranks_of(standing), processes=(process,),
            because=(*(Reason(f"{one.what}: {_reason(one)}{one.hint and '; '}{one.hint}", "kernel", ref) for one in gaps),
                     *waited_for(root)),
            against=("what it does was not seen: it is named for those who wait for it",),
            next=(Step(f"cat /proc/{ref.pid}/stat /proc/{ref.pid}/wchan", ref, "its state; D: a device or a file system"),
                  Step(f"rankscope diagnose pid:{ref.pid} --deadline 60", ref)),
        )  # fmt: skip


def _seen(standing: Standing) -> bool:
    """Whether something tells where it stands, or that it gets on; who may only be seen from outside has a rule of its own."""
    return standing.thread is not None or standing.member.dead or works(standing) or hidden(standing.member)


def _gaps(case: Case, standing: Standing) -> list[Gap]:
    """Why it was not seen, each reason once, those that stood still first."""
    member = standing.member
    python = member.role is Role.RANK or is_python(member.process)  # of another program no stack is missed
    mine = [
        gap for gap in case.snapshot.gaps if gap.process == member.ref and gap.what in _STANDS and gap.why in _SILENT
    ]
    found = {(gap.what, gap.why): gap for gap in mine if python or gap.why is Why.BLOCKED}
    return sorted(found.values(), key=lambda gap: gap.why is not Why.BLOCKED)


def _reason(gap: Gap) -> str:
    return gap.detail or gap.why.value


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 37, check)
