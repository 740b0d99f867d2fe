"""A forked child waits for another thread of its process, and has none: the one that would answer stayed in its parent.

## What it means
A client of metrics, logs or traces, a prefetcher or an executor started a thread, and the program forked afterwards: gunicorn
with `--preload`, uWSGI without `lazy-apps`, a pool, a loader. The child has the queue, but not the thread that empties or fills
it. `put()` goes well until somebody waits: in `queue.join()`, `get()`, a full `put()`, or `result()` of a future.

## How it is recognised
The process was forked from a running Python that has threads. It has one Python thread itself, which stands in a queue or future
of the job's own process; every thread of it sleeps without a time limit in what only this process could bring, and has done so
for longer than `--stuck-after`.

## What to do
Start the thread in the child: gunicorn `post_fork`, uWSGI `@postfork`, celery `worker_process_init`, `worker_init_fn` of a
loader, or `os.register_at_fork(after_in_child=…)`; or load the program in each worker (no `--preload`, `lazy-apps = true`).

## How to prevent it
No threads at import time in what is forked; `spawn` or `forkserver`. Python 3.12 and later warn of such forks.

## Links
https://docs.gunicorn.org/en/stable/settings.html#preload-app
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member, Root
from ...analysis.frame_tables import WaitKind
from ...analysis.standing import Standing
from ...analysis.threads import forked, nobody_else, parent_of, rests_alone, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from .. import make_rule
from .._say import at, ranks_of, stands, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values() if case.snapshot.live else ():
        member, parent = standing.member, parent_of(case, standing.member)
        if member.gone or parent is None or not forked(member, parent) or standing.wait.user < 0:
            continue
        stayed = _threads_of(parent)
        alone = len(views(member)) == 1 and standing.kind is not WaitKind.LOCK and nobody_else(standing)
        alone = alone and not rests_alone(standing)  # an event tells of no thread that should bring it
        if not stayed or not alone or not case.stuck(standing.still_s):
            continue
        yield _finding(standing, parent, stayed, case.graph.root(member.ref))


def _finding(standing: Standing, parent: Member, stayed: list[str], root: Root | None) -> Finding:
    member, place = standing.member, at(standing.user_frame)
    alone = "it is the only Python thread of its process, and nothing else in it could end this wait"
    there = f"its parent runs threads, which a fork does not copy: {', '.join(stayed[:4])}"
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(member.process)} waits in {place} for a thread that exists only in its parent",
        ranks=ranks_of(standing), processes=(member.process,),
        because=(stands(standing), Reason(alone, "kernel", member.ref), Reason(there, "python-stack", parent.ref),
                 *(waited_for(root) if root else ())),
        next=("start the thread after the fork (post_fork, worker_init_fn, os.register_at_fork)",
              Step(f"rankscope stacks pid:{parent.ref.pid}", parent.ref)),
    )  # fmt: skip


def _threads_of(parent: Member) -> list[str]:
    """The Python threads of a process beside the main one, by name."""
    return [view.name for view in views(parent) if view.python.tid != parent.ref.pid]


RULE = make_rule(__name__, __doc__, "fork-with-threads", 17, check)
