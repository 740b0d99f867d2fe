"""Waits in which a library asks again and again: for what a person types, for the result of a task.

Such a thread wakes all the time, so that the kernel knows no age of its wait. What tells is that look after look finds it at the
same place of the job's code, with the same values around it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from ..model.evidence.stacks import Frame, PythonStacks, PythonThread
from ..model.evidence.threads import Threads
from ..model.process import ProcessRef, Role
from .frame_tables import Kind
from .identity import birth, module_path_of
from .standing import Standing
from .threads import views

# A loop that asks often is found at one place by chance; not as often as this.
_LOOKS = 4
# Where a program waits for what tasks return (ray.get; celery.result), and where processes run the tasks they are given.
_RESULTS = {("ray/_private/worker.py", "get"), ("celery/result.py", "get"), ("celery/result.py", "join")}
_TASKS = {("ray/_private/worker.py", "main_loop"), ("celery/app/trace.py", "trace_task")}
# A worker of a pool that has no task; Ray's workers without one are no members.
_FREE = {("billiard/pool.py", "workloop")}
# The files of libraries that ask: who has none of them on a stack needs no longer look.
FILES = ("ray/_private/worker.py", "celery/result.py", "ipykernel/kernelbase.py")


def awaits_result(standing: Standing) -> bool:
    """Whether the job's code waits for the result of a task that some other process is to run."""
    return standing.wait.user >= 0 and bool(_RESULTS & _names(standing.own_stack[standing.wait.user + 1 :]))


def in_task(standing: Standing) -> bool:
    """Whether it runs a task itself."""
    return bool(_TASKS & _names(standing.own_stack[: max(standing.wait.user, 0)]))


def tasks_in_wait(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Those who wait for results of tasks, where everybody of the job who is at anything does so, some of them inside of tasks:
    then no process is at work on what they wait for. Empty where somebody else is, or could take a task."""
    alive = [one for one in standings if not one.member.gone and not one.member.dead]
    waiting = tuple(one for one in alive if awaits_result(one) and _no_other_at_work(one))
    others = [one for one in alive if one not in waiting]
    return waiting if any(map(in_task, waiting)) and all(map(_idle, others)) else ()


def asked_s(standing: Standing) -> float | None:
    """For how long every look has found it at one place of the job's code, asking; None where one did not."""
    times = [one.uptime_s for one in standing.member.over_time(Threads)]
    if standing.wait.user < 0 or not (standing.kind is Kind.INPUT or awaits_result(standing)):
        return None
    first, last = (times[0], times[-1]) if times else (None, None)  # a dump that somebody saved has no clock
    if first is None or last is None or len(set(_places(standing))) != 1:
        return None
    return last - first


def aged(standings: Mapping[ProcessRef, Standing]) -> dict[ProcessRef, Standing]:
    """The standings, with the time for which somebody was seen to ask; a few looks alone may be chance."""
    out = dict(standings)
    for ref, one in standings.items():
        seen = asked_s(one) if len(one.member.over_time(PythonStacks)) >= _LOOKS else None
        if seen is not None and (one.still_s is None or seen > one.still_s):
            out[ref] = dataclasses.replace(one, still_s=round(seen, 3), moved=False)
    return out


def left_s(standings: Iterable[Standing], enough_s: float) -> float | None:
    """How much longer to look until those who ask count as stuck; None where nobody asks whom nobody answers."""
    every = tuple(standings)
    asking = (*(one for one in every if one.kind is Kind.INPUT), *tasks_in_wait(every))
    ages = [max(one.still_s or 0.0, seen) for one in asking if (seen := asked_s(one)) is not None]
    if not asking or len(ages) < len(asking):
        return None
    looks = min(len(one.member.over_time(PythonStacks)) for one in asking)
    left = enough_s - min(ages)
    return None if left <= 0 and looks >= _LOOKS else max(left, 0.3)


def _names(stack: Iterable[Frame]) -> set[tuple[str, str]]:
    return {(module_path_of(frame), frame.function.rsplit(".", 1)[-1]) for frame in stack}


def _no_other_at_work(standing: Standing) -> bool:
    """Whether no other thread of the process is in the job's code."""
    return all(view.wait.user < 0 for view in views(standing.member) if view.python is not standing.thread)


def _idle(standing: Standing) -> bool:
    """Whether a process is at nothing of the job: a launcher that waits, or one whose threads are in no code of the job."""
    if standing.thread is None or standing.busy > 0.1:
        return standing.member.role is Role.HELPER
    if standing.member.role is Role.LAUNCHER and standing.kind in (Kind.SLEEP, Kind.CHILD, Kind.SOCKET, Kind.IDLE):
        return True
    return standing.wait.user < 0 and not _FREE & _names(standing.own_stack) and _no_other_at_work(standing)


def _places(standing: Standing) -> Iterator[object]:
    """The place and its values at each look that could read the thread."""
    tid = standing.thread.tid if standing.thread else None
    for look in standing.member.over_time(PythonStacks):
        yield from (_place(standing, thread) for thread in look.threads if thread.tid == tid)


def _place(standing: Standing, thread: PythonThread) -> object:
    user = standing.wait.user + birth(thread.stack)
    values = tuple(local for local in thread.locals if local.depth <= user)
    return tuple(thread.stack[: user + 1]), values
