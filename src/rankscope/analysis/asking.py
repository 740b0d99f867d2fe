"""Waits in which a library asks again and again: for what a person types, for the result of a task or pool, a lock, peers.

Such a thread wakes all the time, so that the kernel knows no age of its wait. What tells is that look after look finds it at the
same place of the job's code, with the same values around it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from ..model.evidence.stacks import Frame, PythonStacks, PythonThread
from ..model.process import ProcessRef, Role
from .dead_children import often, polled_for
from .frame_tables import WaitKind
from .identity import birth, name_of
from .load import WORKS, watched_s
from .meeting_points import LOCAL, all_meet_in_files, meets_in_file
from .pools import at_rest, polls_pool
from .spinning import LOOKS
from .standing import Standing, stand
from .threads import ThreadView, views

# Where a program waits for what tasks return (ray.get; celery.result; Dask asks its scheduler for results and locks alike), and
# where processes run the tasks they are given: Dask's in threads of their own (distributed/worker.py), which have none else.
_DASK = ("distributed/utils.py", "sync")
_RESULTS = {("ray/_private/worker.py", "get"), ("celery/result.py", "get"), ("celery/result.py", "join"), _DASK}
_BESIDE = ("distributed/worker.py", "_run_task")
_TASKS = {("ray/_private/worker.py", "main_loop"), ("celery/app/trace.py", "trace_task"), _BESIDE}
# What tasks of Dask give back to each other, whoever has it; each lives in the scheduler.
_LOCKS = {
    ("distributed/lock.py", "acquire"),
    ("distributed/semaphore.py", "acquire"),
    ("distributed/multi_lock.py", "acquire"),
}
# A worker of a pool that has no task; Ray's workers without one are no members.
_FREE = {("billiard/pool.py", "workloop")}
# The files of libraries that ask: who has none of them on a stack needs no longer look.
FILES = (
    "ray/_private/worker.py", "celery/result.py", "ipykernel/kernelbase.py", "distributed/utils.py", "joblib/parallel.py",
)  # fmt: skip


def may_ask(thread: PythonThread) -> bool:
    """Whether a thread stands where libraries ask again and again."""
    return any(frame.file.endswith(FILES) for frame in thread.stack) or any(one.name == LOCAL for one in thread.locals)


def awaits_result(standing: Standing) -> bool:
    """Whether the job's code waits for the result of a task that some other process is to run."""
    return standing.wait.user >= 0 and bool(_RESULTS & _names(standing.own_stack[standing.wait.user + 1 :]))


def awaits_lock(standing: Standing) -> bool:
    """Whether what it asks for is a lock that other tasks give back."""
    return awaits_result(standing) and bool(_LOCKS & _names(standing.own_stack[standing.wait.user + 1 :]))


def of_dask(standing: Standing) -> bool:
    """Whether it is Dask's scheduler that it asks."""
    return _DASK in _names(standing.own_stack)


def in_task(standing: Standing) -> bool:
    """Whether it runs a task itself."""
    return bool(_TASKS & _names(standing.own_stack[: max(standing.wait.user, 0)]))


def tasks_in_wait(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Those who wait for results of tasks, where everybody of the job who is at anything does so, some of them inside of tasks:
    then no process is at work on what they wait for. Empty where somebody else is, or could take a task."""
    alive = [one for known in standings if not known.member.dead for one in (known, *_tasks_beside(known))]
    waiting = tuple(_aged(one) for one in alive if awaits_result(one) and not _limited(one) and _no_other_at_work(one))
    places = {(one.member.ref, one.thread.tid) for one in waiting if one.thread}
    others = [one for one in alive if one.thread is None or (one.member.ref, one.thread.tid) not in places]
    if any(map(awaits_lock, waiting)) and any(one.kind is WaitKind.SLEEP for one in others):
        return ()  # who sleeps may have the lock meanwhile
    return waiting if any(map(in_task, waiting)) and all(map(_idle, others)) else ()


def _limited(standing: Standing) -> bool:
    """Whether it gives up what it asks for after a time."""
    thread = standing.thread
    inner = standing.wait.user + birth(thread.stack) if thread is not None else 0
    locals_ = thread.locals if thread is not None else ()
    return any(one.name == "timeout" and one.value != "None" for one in locals_ if one.depth > inner)


def _tasks_beside(standing: Standing) -> tuple[Standing, ...]:
    """The threads beside the one that decides in which a process runs tasks."""
    stacks = standing.member.latest(PythonStacks)
    threads = [one for one in stacks.threads if one is not standing.thread] if stacks else []
    return tuple(stand(standing.member, one) for one in threads if _BESIDE in _names(one.stack))


def _in_place_s(standing: Standing) -> float | None:
    """For how long every look has found it at one place of the job's code; None where one did not."""
    return watched_s(standing.member) if standing.wait.user >= 0 and len(set(_places(standing))) == 1 else None


def _asks(standing: Standing) -> bool:
    """Whether it stands where a library asks again and again."""
    return standing.kind is WaitKind.INPUT or any(one(standing) for one in (awaits_result, polls_pool, meets_in_file))


def aged(standings: Mapping[ProcessRef, Standing]) -> dict[ProcessRef, Standing]:
    """The standings, with the time for which somebody was seen to ask; a few looks alone may be chance."""
    vain = {one.member.ref for one in _in_vain(standings.values())}
    return {ref: _aged(one) if ref in vain or _asks(one) else one for ref, one in standings.items()}


def _in_vain(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Those who ask often for what children should bring that are dead, and do nothing else."""
    members = [one.member for one in standings]
    orphans = {(one.ref.host, one.process.parent) for one in members if one.dead}
    asking = (
        one for one in standings if (one.member.ref.host, one.member.ref.pid) in orphans and polled_for(one, members)
    )
    return tuple(
        one for one in asking if (often(one) or one.kind in (WaitKind.QUEUE, WaitKind.PIPE)) and _no_other_at_work(one)
    )


def _aged(standing: Standing) -> Standing:
    seen = _in_place_s(standing) if len(standing.member.over_time(PythonStacks)) >= LOOKS else None
    if seen is None or (standing.still_s is not None and seen <= standing.still_s):
        return standing
    return dataclasses.replace(standing, still_s=round(seen, 3), moved=False)


def left_s(standings: Iterable[Standing], enough_s: float) -> float | None:
    """How much longer to look until those who ask count as stuck; None where nobody asks whom nobody answers."""
    every = tuple(standings)
    pools = (one for one in every if polls_pool(one) and at_rest(one, every))
    typed = (one for one in every if one.kind is WaitKind.INPUT)
    return _left_s((*typed, *tasks_in_wait(every), *pools, *_in_vain(every)), enough_s)


def meeting_left_s(standings: Iterable[Standing], enough_s: float) -> float | None:
    """How much longer to look until ranks that all ask a file for each other count as stuck; None where they do not."""
    return _left_s(all_meet_in_files(standings), enough_s)


def _left_s(asking: tuple[Standing, ...], enough_s: float) -> float | None:
    ages = [max(one.still_s or 0.0, seen) for one in asking if (seen := _in_place_s(one)) is not None]
    if not asking or len(ages) < len(asking):
        return None
    looks = min(len(one.member.over_time(PythonStacks)) for one in asking)
    left = enough_s - min(ages)
    return None if left <= 0 and looks >= LOOKS else max(left, 0.3)


def _names(stack: Iterable[Frame]) -> set[tuple[str, str]]:
    return set(map(name_of, stack))


def _no_other_at_work(standing: Standing) -> bool:
    """Whether no other thread of the process is in the job's code, but those that wait for tasks as well."""
    return not any(map(_at_work, (view for view in views(standing.member) if view.python is not standing.thread)))


def _at_work(view: ThreadView) -> bool:
    if view.wait.user < 0:
        return _BESIDE in _names(view.stack)  # a library's own code may be a task
    return not _RESULTS & _names(view.stack[view.wait.user + 1 :])


def _idle(standing: Standing) -> bool:
    """Whether a process is at nothing of the job: a launcher that waits, or one whose threads are in no code of the job but
    that of tasks which wait."""
    if standing.member.role is Role.HELPER:
        return True
    if standing.thread is None or standing.busy > WORKS:
        return False
    if standing.member.role is Role.LAUNCHER and standing.kind in (
        WaitKind.SLEEP,
        WaitKind.CHILD,
        WaitKind.SOCKET,
        WaitKind.IDLE,
    ):
        return True
    return standing.wait.user < 0 and not _FREE & _names(standing.own_stack) and _no_other_at_work(standing)


def _places(standing: Standing) -> Iterator[object]:
    """The place and its values at each look that could read the thread."""
    return (_place(standing, thread) for thread in standing.looks)


def _place(standing: Standing, thread: PythonThread) -> object:
    user = standing.wait.user + birth(thread.stack)
    values = tuple(local for local in thread.locals if local.depth <= user)
    return tuple(thread.stack[: user + 1]), values
