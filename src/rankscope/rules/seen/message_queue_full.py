"""A process waits for room in a message queue of the kernel, from which nobody takes.

## What it means
A POSIX message queue holds ten messages unless its maker asked for more (mq_overview(7)), one of System V 16 KiB (msgget(2)).
Whoever should receive has ended, has taken as many as it expected, or was never started; the sender then waits for ever.

## How it is recognised
The thread that others wait for is blocked in `mq_send` or `msgsnd` without a time limit, and has not run for longer than
`--stuck-after`; whoever else of the job has the queue open waits for others, and does not stand in code that might receive.

## What to do
See who should receive (`cat /dev/mqueue/NAME`, `ipcs -q`), and why it stopped: its count of messages, its exit, its log.

## How to prevent it
`mq_timedsend`, or a queue opened with `O_NONBLOCK`, whose full state is an error that can be handled; a message that says "no
more", so that the receiver need not count.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.callers import call_of
from ...analysis.case import Case, Member
from ...analysis.frame_tables import WaitKind
from ...analysis.standing import Standing
from ...analysis.threads import views
from ...model.diagnosis import Finding, Kind, Reason, Step
from ...model.evidence.files import OpenFiles
from .. import make_rule
from .._say import at, certainty, just_come, old_roots, pointed_at, ranks_of, stands, waited_for, who

_SENDS = ("mq_timedsend", "msgsnd")
_AT_WORK = (WaitKind.USER, WaitKind.LIBRARY, WaitKind.SLEEP, WaitKind.UNKNOWN)


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        call = call_of(standing)
        if call is None or call.call not in _SENDS or call.timed or not (root.waiters or pointed_at(case, standing)):
            continue
        name = next((_opened(standing.member, fd) for fd in call.fds), "")
        sharers = [one for one in case.by_host.get(standing.member.ref.host, ()) if _shares(one, standing, name)]
        if any(_may_receive(one) for one in sharers):
            continue
        process = standing.member.process
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing),
            title=f"{who(process)} waits for room in a message queue that nobody empties, in {at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(process,),
            because=(stands(standing), *_told(standing, call.call, name, sharers), *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step(_ask(process.ref.pid, name, call.fds), process.ref),
                  Step(f"rankscope stacks pid:{process.ref.pid} --source", process.ref)),
        )  # fmt: skip


def _ask(pid: int, name: str, fds: tuple[int, ...]) -> str:
    """What shows how full the queue is; by the descriptor one too that has no name any more (mq_overview(7))."""
    return f"cat /proc/{pid}/fd/{fds[0]}" if name else "ipcs -q"


def _told(standing: Standing, call: str, name: str, sharers: list[Member]) -> Iterator[Reason]:
    ref = standing.member.ref
    yield Reason(f"blocked in {call}" + (f" on the queue {name}" if name else ""), "kernel", ref)
    if sharers:
        also = ", ".join(who(one.process) for one in sharers[:4]) + (" …" if len(sharers) > 4 else "")
        yield Reason(f"{also} have it open too, and receive nothing", "files", ref)


def _opened(member: Member, fd: int) -> str:
    files = member.latest(OpenFiles)
    return next((one.target for one in files.files if one.fd == fd), "") if files else ""


def _shares(other: Member, standing: Standing, name: str) -> bool:
    files = other.latest(OpenFiles) if name and other is not standing.member else None
    return files is not None and any(one.target == name for one in files.files)


def _may_receive(member: Member) -> bool:
    """Whether a thread stands in code from which it may come to the queue; one that waits for others does not."""
    threads = views(member)
    return not threads or any(view.wait.kind in _AT_WORK for view in threads)


RULE = make_rule(__name__, __doc__, "queue-pipe-full", 22, check)
