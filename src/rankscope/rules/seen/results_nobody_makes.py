"""Tasks wait for what other tasks bring, results or locks, and no process is left that could bring it.

## What it means
A task (of Ray, of Celery, of Dask) asks for the result of another one and waits for it. The other one cannot start: every
place in which tasks run is taken by tasks that wait like this one. Or two actors wait for each other's methods: an
actor runs one at a time, so each is busy with its own wait. Or tasks have taken locks of the cluster in opposite order.
Nothing fails, since no time limit is set.

## How it is recognised
Everybody of the job who is at anything stands in `ray.get`, in the `get` of a Celery result, or in a call to Dask's scheduler
(a result, a `Lock`, a `Semaphore`), at least one of them inside of a task; look after look finds them at the same place, for
longer than `--stuck-after`; no process runs a task, and no worker of a pool is free. Such waits ask again and again, so that
their threads wake and the kernel knows no age of them: the look lasts as long as it takes.

## What to do
Ray: `ray status` shows demands that are not met, `ray list tasks --filter state=PENDING_NODE_ASSIGNMENT` the tasks.
Celery: `celery -A APP inspect reserved`. Dask: the page of its scheduler shows who runs what; `client.restart()` ends them.
Ending one of the waiting tasks sets the others free, once.

## How to prevent it
Give on what follows (`chain`, `chord`, a reference instead of its value) in place of waiting inside a task; Celery's
manual has it under "Avoid launching synchronous subtasks" (https://docs.celeryq.dev/en/stable/userguide/tasks.html).
Fewer resources for actors that start tasks (`num_cpus=0`), `async` methods where actors call each other,
`worker_client()` where a task of Dask waits for others, one order of locks (`MultiLock`), a time limit in every wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.asking import awaits_lock, in_task, of_dask, tasks_in_wait
from ...analysis.case import Case
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.words import span
from .. import make_rule
from .._say import at, who

_RAY = ("ray status", "ray list tasks --filter state=PENDING_NODE_ASSIGNMENT")
_CELERY = ("celery -A APP inspect reserved",)
_DASK = ("client.call_stack()   # of the tasks that run; client.restart() ends them",)


def check(case: Case) -> Iterator[Finding]:
    waiting = tasks_in_wait(case.standings.values()) if case.snapshot.live and not case.ranks else ()
    ages = [one.still_s for one in waiting if one.still_s is not None]
    if not waiting or len(ages) < len(waiting) or not case.stuck(min(ages)):
        return
    tasks, sure = [one for one in waiting if in_task(one)], _sure(case, waiting)
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=sure,
        title=_title(tasks),
        processes=tuple(one.member.process for one in tasks),
        because=(*map(_stands, waiting[:6]),
                 Reason(f"nobody else is at work on a task; these have been found at the same places for {span(min(ages))}",
                        "python-stack")),
        against=() if sure is Certainty.LIKELY else ("tasks may be run on hosts that were not looked at",),
        next=_next(case, tasks),
    )  # fmt: skip


def _next(case: Case, tasks: list[Standing]) -> tuple[str, ...]:
    if any(map(of_dask, tasks)):
        return _DASK
    return _RAY if case.snapshot.job.launcher == "ray" else _CELERY


def _sure(case: Case, waiting: tuple[Standing, ...]) -> Certainty:
    """A program that has started its cluster for itself, and waits for it, has nobody elsewhere; other workers may be on other
    hosts."""
    job = case.snapshot.job
    own = job.launcher == "ray" or any(one.member.ref == job.root and of_dask(one) for one in waiting)
    return Certainty.LIKELY if own and job.root is not None and len(case.snapshot.hosts) < 2 else Certainty.POSSIBLE


def _title(tasks: list[Standing]) -> str:
    named, place = ", ".join(dict.fromkeys(who(one.member.process) for one in tasks[:3])), at(tasks[0].user_frame)
    locks = all(map(awaits_lock, tasks))
    if len(tasks) == 1:
        what = "a lock that no process is left to give back" if locks else "a result that no process is left to make"
        return f"a task of {named} waits for {what}, in {place}"
    what = "locks that no process is left to give back" if locks else "results that no process is left to make"
    return f"tasks of {named} wait for {what}, the first in {place}"


def _stands(standing: Standing) -> Reason:
    doing = "runs a task that waits" if in_task(standing) else "waits"
    what = "a lock" if awaits_lock(standing) else "a result"
    return Reason(f"{who(standing.member.process)} {doing} for {what} in {at(standing.user_frame)}", "python-stack",
                  standing.member.ref)  # fmt: skip


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 24, check)
