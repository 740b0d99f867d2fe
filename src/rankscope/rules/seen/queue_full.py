"""A process waits for room in a queue that nobody empties.

## What it means
A bounded queue is full, and whoever should take from it is gone: the thread or process that did has ended, or was never
started. `put()` without a time-out then waits for ever; with handlers that log into a queue it may be any line that logs. So do
two stages of a pipeline that put into each other's full queue: each would take again once it had put.

## How it is recognised
The thread that others wait for stands in `put` of `queue` or `multiprocessing`, has not run for longer than `--stuck-after`,
and nobody who could take from the queue is at work: no other thread or related process moves, or stands in the job's code. One
that stands there is the cause itself, and is named instead, unless it waits for room in a queue too.

## What to do
Find who should read (`rankscope stacks pid:PID`): see why its loop ended. `put(item, timeout=…)` says so instead of waiting.

## How to prevent it
Consumers that catch and report their errors; `put_nowait` in log handlers, which drop a record rather than block.
The documentation: https://docs.python.org/3/library/queue.html and https://docs.python.org/3/howto/logging-cookbook.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import name_of
from ...analysis.progress import advances
from ...analysis.standing import Standing, idle_worker
from ...analysis.threads import ThreadView, asleep_alone, views
from ...model.diagnosis import Finding, Kind, Reason, Step
from ...model.evidence.stacks import Stack
from ...model.process import Role
from .. import make_rule
from .._say import at, certainty, just_come, old_roots, pointed_at, ranks_of, stands, waited_for, who

_FILES = ("queue.py", "multiprocessing/queues.py")


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if not _wants_room(standing) or advances(standing) or _somebody_takes(case, standing):
            continue
        if root.waiters or pointed_at(case, standing):
            yield _finding(case, root, standing)


def _finding(case: Case, root: Root, standing: Standing) -> Finding:
    process = standing.member.process
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing),
        title=f"{who(process)} waits for room in a queue that nobody empties, in {at(standing.user_frame)}",
        ranks=ranks_of(standing), processes=(process,), because=(stands(standing), *_others(standing), *waited_for(root)),
        against=tuple(just_come(case, standing)), next=(Step(f"rankscope stacks pid:{process.ref.pid}", process.ref),),
    )  # fmt: skip


def _others(standing: Standing) -> Iterator[Reason]:
    """Threads that wait for room as well, and would take something once they had it."""
    for view in views(standing.member):
        if view.python is not standing.thread and _puts(view):
            yield Reason(
                f"{view.name} waits for room too, in {at(view.wait.user_frame)}", "python-stack", standing.member.ref
            )


def _wants_room(standing: Standing) -> bool:
    return standing.kind is WaitKind.QUEUE and _in_put(standing.own_stack)


def _puts(view: ThreadView) -> bool:
    return view.wait.kind is WaitKind.QUEUE and _in_put(view.stack) and asleep_alone(view)


def _in_put(stack: Stack) -> bool:
    """Whether it stands in ``put`` and not in the queue's own mutex, which only another ``put`` or ``get`` could hold."""
    frames = [name_of(frame) for frame in stack]
    inside = any(file in _FILES and function == "put" for file, function in frames)
    return inside and frames[-1] != ("threading.py", "__enter__")


def _somebody_takes(case: Case, standing: Standing) -> bool:
    """Whether a thread of the process, or a process of its family, stands in the job's code or works there; one that wants
    room itself, or a lock, takes nothing."""
    threads = (view for view in views(standing.member) if view.python is not standing.thread)
    if any(view.wait.user >= 0 and not view.wants_lock and not _puts(view) for view in threads):
        return True
    return any(
        one.wait.user >= 0 and not one.member.gone and not idle_worker(one) and not _wants_room(one)
        for one in _family(case, standing)
    )


def _family(case: Case, standing: Standing) -> Iterator[Standing]:
    """Its children, and where it is no rank, its siblings: with these it may share a queue."""
    mine = standing.member
    for one in case.standings.values():
        other = one.member.process
        child = other.parent == mine.ref.pid
        sibling = other.parent == mine.process.parent and mine.role is not Role.RANK
        if (
            one.member is not mine
            and other.ref.host == mine.ref.host
            and other.role is not Role.RANK
            and (child or sibling)
        ):
            yield one


RULE = make_rule(__name__, __doc__, "queue-pipe-full", 23, check)
