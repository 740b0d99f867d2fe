"""A process cannot end because its queue's feeder thread is blocked in a full pipe that nobody reads.

## What it means
`multiprocessing.Queue` writes through a background thread into a pipe of 64 KiB. A process that has put more than that joins
this thread before it ends; a parent that joins the process before it has emptied the queue waits for ever, and so does a process
whose reader has had its fill and ended.

## How it is recognised
A thread stands in the queue's `_feed` and is blocked writing to a pipe, and the process that holds the reading end waits for
the end of that process (or of somebody who waits for it). Or the process itself joins this thread, and no other process, of the
job or beside it, has the pipe open.

## What to do
Read everything from the queue before joining its writers; or send a marker as the last item and read until it comes.

## How to prevent it
Results through `concurrent.futures` or `Pool`; `Queue.cancel_join_thread()` where losing the rest is fine; files for large data.

## Links
https://docs.python.org/3/library/multiprocessing.html#programming-guidelines
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member, Root
from ...analysis.ends import holds
from ...analysis.identity import name_of
from ...analysis.threads import ThreadView, views
from ...analysis.waits.child import awaits_end
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.evidence.files import OpenFiles
from ...model.evidence.outsiders import Outsiders
from ...model.process import ProcessRef
from ...model.ranks import RankSet
from .. import make_rule
from .._say import name, waited_for, who

_WRITES = ("write", "writev", "sendto", "sendmsg")


def check(case: Case) -> Iterator[Finding]:
    for member in case:
        for view in views(member) if not member.gone else ():
            still = view.task.still_s if view.task else None
            pipe = _full_pipe(member, view)
            if pipe is None or not case.stuck(still):
                continue
            joiner = _joiner(case, member, pipe)
            root = case.graph.root(member.ref)
            if joiner is None:
                if _joins_feeder(case, member) and _alone(case, member, pipe):
                    yield _unread(member, view, pipe, root)
                    break
                continue
            rank = joiner.rank if joiner.rank is not None else member.rank
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.CERTAIN,
                title=f"{who(member.process)} cannot end: its queue feeder is blocked in a full pipe that {who(joiner.process)} "
                      "does not read",
                ranks=RankSet([rank] if rank is not None else []), processes=(joiner.process, member.process),
                because=(Reason(f"{view.name} is blocked writing to {pipe}", "kernel", member.ref),
                         Reason(f"{name(case, joiner.ref)} holds the reading end and waits for that process to end", "kernel",
                                joiner.ref), *(waited_for(root) if root else ())),
                next=("read the queue until it is empty before join()",),
            )  # fmt: skip
            break


def _unread(member: Member, view: ThreadView, pipe: str, root: Root | None) -> Finding:
    """Whoever read this queue is gone, and what is left in it keeps its writer."""
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(member.process)} cannot end: its queue feeder is blocked in a full pipe that no other process has open",
        ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
        because=(Reason(f"{view.name} is blocked writing to {pipe}", "kernel", member.ref),
                 Reason("its main thread waits for that thread", "python-stack", member.ref),
                 *(waited_for(root) if root else ())),
        next=("read the queue until it is empty, or queue.cancel_join_thread(), before its reader ends",),
    )  # fmt: skip


def _joins_feeder(case: Case, member: Member) -> bool:
    """Whether the deciding thread waits for the end of a feeder (``Queue.join_thread``, also at exit)."""
    standing = case.standings.get(member.ref)
    names = {name_of(one) for one in (standing.own_stack if standing else ())}
    return ("multiprocessing/queues.py", "_finalize_join") in names


def _alone(case: Case, member: Member, pipe: str) -> bool:
    """Whether nobody else could read: a queue leaves the reading end open in its writer as well."""
    others = [one for one in case.by_host.get(member.ref.host, ()) if one is not member]
    beside = member.latest(Outsiders)
    ends = {f"pipe:[{one.inode}]" for one in beside.found} if beside else set()
    return holds(member, pipe, "r") and pipe not in ends and not any(holds(one, pipe, "r") for one in others)


def _full_pipe(member: Member, view: ThreadView) -> str | None:
    """The pipe that this feeder thread is blocked on, None when it is no feeder or not blocked in a write."""
    feeding = any(frame.function.rsplit(".", 1)[-1] == "_feed" for frame in view.stack)
    files = member.latest(OpenFiles)
    if not feeding or view.call is None or view.call.call not in _WRITES or files is None:
        return None
    return next((f.target for f in files.files if view.call and f.fd in view.call.fds), None)


def _joiner(case: Case, member: Member, pipe: str) -> Member | None:
    """Who holds the other end and waits for this process: directly, or as its parent in join."""
    for other in case.by_host[member.ref.host]:
        files = other.latest(OpenFiles)
        if other is member or files is None or not any(f.target == pipe for f in files.files):
            continue
        standing = case.standings.get(other.ref)
        waits = standing is not None and awaits_end(standing)
        if waits and (_reaches(case, other.ref, member.ref) or member.process.parent == other.ref.pid):
            return other
    return None


def _reaches(case: Case, start: ProcessRef, goal: ProcessRef) -> bool:
    return any(wait.waiter == start for wait in case.graph.to(goal))


RULE = make_rule(__name__, __doc__, "queue-pipe-full", 17, check)
