"""A process writes into a full pipe that only it reads.

## What it means
A pipe holds 64 KiB (pipe(7)). A loop that sends itself events through a pipe (a self-pipe, a wake-up channel), or a program that
has put a pipe in place of its own output, writes until the pipe is full, and then waits for a reader: itself.

## How it is recognised
The thread that others wait for is blocked in a write to a pipe whose reading end no other process of the job has open and
nobody beside the job, and no other thread of the process stands in the job's code, where it might read.

## What to do
Look at the line that is shown. Make the writing end non-blocking (`os.set_blocking(fd, False)`) and treat a full pipe as "already
woken"; keep events in a list and send one byte for all of them.

## How to prevent it
`loop.call_soon_threadsafe`, `queue.SimpleQueue`, `socket.socketpair` with non-blocking ends; a thread of its own to read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.ends import holds, written
from ...analysis.standing import Standing
from ...analysis.threads import views
from ...model.diagnosis import Finding, Kind, Reason, Step
from .. import make_rule
from .._outside import outsiders
from .._say import at, certainty, just_come, old_roots, pointed_at, ranks_of, stands, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        pipe = written(standing)
        if not pipe or not (root.waiters or pointed_at(case, standing)) or not _only_reader(case, standing, pipe):
            continue
        process = standing.member.process
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing),
            title=f"{who(process)} writes into a full pipe that only it reads, in {at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(process,),
            because=(stands(standing), Reason(f"no other process has the reading end of {pipe}", "kernel", process.ref),
                     *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step(f"rankscope stacks pid:{process.ref.pid} --source", process.ref),),
        )  # fmt: skip


def _only_reader(case: Case, standing: Standing, pipe: str) -> bool:
    """Whether this process alone could read, and no other thread of it might."""
    others = [one for one in case.by_host.get(standing.member.ref.host, ()) if one is not standing.member]
    busy = any(view.python is not standing.thread and view.wait.user >= 0 for view in views(standing.member))
    mine = holds(standing.member, pipe, "r") and not any(holds(one, pipe, "r") for one in others)
    return mine and not busy and not any(True for _ in outsiders(case, standing))


RULE = make_rule(__name__, __doc__, "queue-pipe-full", 22, check)
