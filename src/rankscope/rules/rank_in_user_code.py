"""A rank stands in the job's own code while the others wait for it in a collective.

## What it means
One rank left the common path: it sleeps, loops, waits for a person, a remote service or a condition that does not come. The
others entered the next collective and wait for it.

## How it is recognised
The rank's thread ends in a frame of the job itself (or in a sleep, input or poll called from there), it has not arrived where
its peers wait, and this has lasted longer than `--stuck-after`. A rank whose outer loops advance between the two looks is
slow, not stuck, and is reported as a straggler. Of a program of no job: the only Python thread it has waits for a queue or a
lock of its own process, so that nobody is left who could end the wait.

## What to do
Read the line that is shown. A loop that polls needs a limit; a remote call needs a time-out; work that only one rank does
belongs before the collective, with the others told how long it may take.

## How to prevent it
Time-outs on everything outside the job; no `input()` or `breakpoint()` in code that runs under a launcher; `rankscope.step`
marks in the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case
from ..analysis.frame_tables import Kind as Wait
from ..analysis.progress import advances
from ..analysis.standing import Standing
from ..analysis.threads import views
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.process import Role
from . import Rule
from ._say import at, certainty, old_roots, pointed_at, ranks_of, stands, waited_for, who

_OWN = {Wait.USER, Wait.SLEEP, Wait.INPUT, Wait.SOCKET, Wait.LIBRARY, Wait.PIPE}
# Waits for another thread or program; a rule that knows whom it waits for explains this one away.
_SECOND_PARTY = {Wait.QUEUE, Wait.CONDITION, Wait.LOCK, Wait.CHILD, Wait.FILE_LOCK, Wait.IDLE, Wait.STORE}
# In these a program may rightly stand for as long as it likes when nobody waits for it.
_PATIENT = {Wait.SLEEP, Wait.IDLE, Wait.CONDITION, Wait.QUEUE, Wait.CHILD, Wait.LIBRARY, Wait.STORE}


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if not _works(case, standing) or standing.kind not in _OWN | _SECOND_PARTY:
            continue
        if standing.state in ("T", "t", "D", "Z") or (
            standing.user_frame is None and standing.kind is not Wait.LIBRARY
        ):
            continue
        if advances(standing) or not (root.waiters or _sick_alone(case, standing)):
            continue
        peers = "; its peers wait for it" if root.waiters else ""
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, _best(standing)),
            title=f"{who(standing.member.process)} {_doing(standing)} in {at(standing.user_frame)}{peers}",
            ranks=ranks_of(standing), processes=(standing.member.process,),
            because=(stands(standing), *_alone(standing), *waited_for(root)),
            against=tuple(_against(standing)),
            next=(f"rankscope stacks pid:{standing.member.ref.pid} --source",),
        )  # fmt: skip


def _works(case: Case, standing: Standing) -> bool:
    """Whether the process does the job's work: a rank, another member, or the program itself where there are no ranks."""
    role = standing.member.role
    return role in (Role.RANK, Role.OTHER) or (role is Role.LAUNCHER and not case.ranks)


def _sick_alone(case: Case, standing: Standing) -> bool:
    """Whether standing still is wrong although nobody waits for it: at a prompt, or in an endless wait of a program that
    somebody pointed at."""
    if standing.kind is Wait.INPUT:
        return True
    if not pointed_at(case, standing):
        return False
    return (standing.kind not in _PATIENT and standing.busy < 0.5) or _nobody_else(standing)


def _nobody_else(standing: Standing) -> bool:
    """Whether it waits without limit for something that only another thread of its process could bring, and there is none."""
    threads = views(standing.member)
    return (
        standing.kind in (Wait.QUEUE, Wait.LOCK)
        and len(threads) == 1
        and bool(threads[0].lock_word)
        and threads[0].asleep
    )


def _alone(standing: Standing) -> Iterator[Reason]:
    if _nobody_else(standing):
        yield Reason("it is the only Python thread of its process: nobody is left who could end this wait", "python-stack",
                     standing.member.ref)  # fmt: skip


def _best(standing: Standing) -> Certainty:
    """Standing still in one's own code is seen, not inferred; running could be long work."""
    if standing.kind in (Wait.SLEEP, Wait.INPUT) and not standing.moved:
        return Certainty.CERTAIN
    return Certainty.LIKELY


def _doing(standing: Standing) -> str:
    return {
        Wait.SLEEP: "sleeps", Wait.INPUT: "waits for input", Wait.SOCKET: "waits on a socket or poll",
        Wait.PIPE: "waits on a pipe", Wait.QUEUE: "waits for a queue", Wait.CONDITION: "waits for a condition",
        Wait.LOCK: "waits for a lock", Wait.CHILD: "waits for a thread or process to end",
        Wait.FILE_LOCK: "waits for a file lock", Wait.LIBRARY: f"is in {standing.wait.op}, called",
    }.get(standing.kind, "spins" if standing.busy > 0.5 else "stands")  # fmt: skip


def _against(standing: Standing) -> Iterator[str]:
    if standing.kind in (Wait.USER, Wait.LIBRARY) and standing.busy > 0.5:
        yield f"it uses {standing.busy:.0%} of a CPU: it may be long work; look again with --sweeps 3 --interval 10"


RULE = Rule(id="rank-in-user-code", cls="rank-stuck-in-user-code", check=check, page=__doc__ or "", order=30)
