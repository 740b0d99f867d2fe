"""All threads of an executor wait for what needs one of them: tasks of their own executor, or of the event loop.

## What it means
A function that runs in a thread (`asyncio.to_thread`, `run_in_executor`) hands a coroutine back to the loop and waits for its
result (`run_coroutine_threadsafe(...).result()`); that coroutine needs a thread as well. Or a task of an executor submits others
to it and waits for them. While a thread is free all goes well; under load each one has such a task, and none is left for what
they wait for. The loop is idle, and nobody is late by its stack.

## How it is recognised
Each thread of one pool of `concurrent.futures` sleeps without a time limit in a future's `result()`, for longer than
`--stuck-after`. And more tasks of the loop wait in `asyncio.to_thread` than the pool has threads, so that at least one has none;
or all other threads of the process sleep as well, so that nobody is left who could bring a result.

## What to do
Await in the loop what needs the loop, and give threads only what blocks. Or give the outer and the inner work an executor each
(`loop.run_in_executor(POOL, ...)`).

## How to prevent it
Nothing in a thread of a pool waits for work of the same pool. A larger pool only makes it rarer.

## Links
https://docs.python.org/3/library/asyncio-task.html#asyncio.to_thread
https://docs.python.org/3/library/concurrent.futures.html#threadpoolexecutor
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.identity import name_of
from ...analysis.loop_tasks import TaskView, loops
from ...analysis.threads import ThreadView, nobody_acts, views, waits_for_thread
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet
from ...model.words import counted, span
from .. import make_rule
from .._say import at, who

_WORKER = ("concurrent/futures/thread.py", "_worker")
_RESULT = ("concurrent/futures/_base.py", "result")
_IN_THREAD = ("asyncio/threads.py", "to_thread")
_NUMBER = re.compile(r"_\d{1,9}$")
_SEVERAL = 4  # as many are named


def check(case: Case) -> Iterator[Finding]:
    for member in case if case.snapshot.live else ():
        pool = () if member.gone else _pool(member)
        waiting = [view for tasks in loops(member) for view in tasks if _needs_thread(view)] if pool else []
        age = min((view.task.still_s or 0.0 for view in pool if view.task is not None), default=0.0)
        if len(waiting) > len(pool) > 0 and case.stuck(age):
            yield _finding(member, pool, age, "tasks", _asked(member, waiting))
        elif pool and nobody_acts(member) and case.stuck(age):
            alone = "all threads of its process sleep without a time limit in waits for each other"
            yield _finding(member, pool, age, "results", Reason(alone, "kernel", member.ref))


def _pool(member: Member) -> tuple[ThreadView, ...]:
    """The threads of the one pool of a process, where all of them wait for results; empty otherwise."""
    workers = [view for view in views(member) if _WORKER in map(name_of, view.stack)]
    names = {_NUMBER.sub("", view.python.name or "") for view in workers}
    stuck = all(waits_for_thread(view) and _RESULT in map(name_of, view.stack) for view in workers)
    return tuple(workers) if len(names) == 1 and stuck else ()


def _needs_thread(view: TaskView) -> bool:
    return bool(view.task.stack) and name_of(view.task.stack[-1]) == _IN_THREAD


def _asked(member: Member, waiting: list[TaskView]) -> Reason:
    one = waiting[-1]
    text = f"{counted(len(waiting), 'task')} of its event loop have asked for a thread, more than there are"
    return Reason(f"{text}; one is {one.task.name} in {at(one.place)}", "python-stack", member.ref)


def _finding(member: Member, pool: tuple[ThreadView, ...], age: float, what: str, why: Reason) -> Finding:
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(member.process)}: all threads of its executor wait, in {at(pool[0].wait.user_frame)}, for {what} that need "
              "one of them",
        ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
        because=(*(Reason(f"{view.name} waits for a result in {at(view.wait.user_frame)}", "python-stack", member.ref)
                   for view in pool[:_SEVERAL]),
                 why, Reason(f"none of these threads has run for {span(age)}", "kernel", member.ref)),
        next=(Step(f"rankscope stacks pid:{member.ref.pid} --raw", member.ref),
              "submit no task that waits for others to the same executor; give the inner work one of its own"),
        circle=True,
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 18, check)
