"""A program waits for a result of its pool, and every worker of the pool waits for a task.

## What it means
Nobody is at work on what the program waits for. A worker was killed in the middle of its task (`multiprocessing.Pool` starts
another one and says nothing), or a result came and could not be read: an exception with arguments of its own that cannot be made
anew from its message, a class that the parent cannot import. That ends the thread of the pool which takes the results, so that
this result and all later ones stay away, and `get()`, `map()` or `imap()` waits for ever.

## How it is recognised
The main thread waits for a result of a `multiprocessing.Pool` (directly, or through joblib's multiprocessing backend) and every
worker has stood in the `get` of its queue for longer than `--stuck-after`; no other thread of the program is at work on it. The
thread that takes the results is missing; or a worker is much younger than the first ones, in a pool without a limit of tasks.

## What to do
Look for a traceback of `Thread-N (_handle_results)` in the program's log; `dmesg` tells of a worker that was killed for memory.
Give the exception a `__reduce__`, or let the worker return errors as text.

## How to prevent it
`concurrent.futures.ProcessPoolExecutor`, which notices both; a time-out in `get()`; exceptions that pass through
`pickle.loads(pickle.dumps(error))`.

## Links
https://docs.python.org/3/library/multiprocessing.html#module-multiprocessing.pool
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.pools import at_rest, handlers, owned, renews_workers, replaces
from ...analysis.standing import Standing
from ...analysis.threads import views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.process import TICKS_PER_S
from ...model.words import counted, span
from .. import make_rule
from .._say import at, certainty, just_come, old_roots, ranks_of, stands, waited_for, who

_LATER_S = 1.0  # a pool starts its first workers one after the other, without waiting for any of them


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case) if case.snapshot.live else ():
        workers = at_rest(standing, case.standings.values())
        if not workers or not all(case.stuck(one.still_s) for one in workers) or _told(case, standing, workers):
            continue
        if renews_workers(standing.member) or _another_works(standing):
            continue
        cls, how, best = _why(standing, workers)
        idle = min(one.still_s or 0.0 for one in workers)
        yield Finding(
            rule=RULE.id, cls=cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing, best),
            title=f"{who(standing.member.process)} waits for a result of its pool in {at(standing.user_frame)}, and all workers "
                  "wait for a task",
            ranks=ranks_of(standing), processes=(standing.member.process, *(one.member.process for one in workers)),
            because=(*how, Reason(f"no task has come to its {counted(len(workers), 'worker')} for {span(idle)}", "python-stack"),
                     stands(standing), *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step("dmesg -T | grep -iE 'killed process|segfault' | tail", standing.member.ref),
                  Step(f"rankscope stacks pid:{standing.member.ref.pid} --children", standing.member.ref)),
        )  # fmt: skip


def _told(case: Case, standing: Standing, workers: tuple[Standing, ...]) -> bool:
    """Whether it is known by other signs which worker was lost."""
    children = (one for one in case.by_host[standing.member.ref.host] if one.process.parent == standing.member.ref.pid)
    return any(one.dead for one in children) or any(replaces(one.member) for one in workers)


def _another_works(standing: Standing) -> bool:
    """Whether another thread runs code of the job: it may be the one that makes the tasks."""
    return any(view.wait.user >= 0 for view in views(standing.member) if view.python is not standing.thread)


def _why(standing: Standing, workers: tuple[Standing, ...]) -> tuple[str, tuple[Reason, ...], Certainty]:
    """What became of the result, as a class, reasons, and how sure that is."""
    ref, inside = standing.member.ref, handlers(standing.member)
    if "_handle_workers" in inside and "_handle_results" not in inside:
        says = "the thread of the pool that takes results is gone: one could not be read"
        return "rank-stuck-in-user-code", (Reason(says, "python-stack", ref),), Certainty.LIKELY
    first = min(one.member.ref.started for one in workers)
    last = max(workers, key=lambda one: one.member.ref.started).member.ref
    later_s = (last.started - first) / TICKS_PER_S
    if owned(standing.member) == 1 and later_s >= _LATER_S:
        says = f"pool worker pid {last.pid} was started {span(later_s)} after the first one: it replaces one"
        return RULE.cls, (Reason(says, "kernel", last),), Certainty.LIKELY
    return RULE.cls, (), Certainty.POSSIBLE


RULE = make_rule(__name__, __doc__, "child-dead", 23, check)
