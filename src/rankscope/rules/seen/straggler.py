"""One rank is behind, works, and the others wait for it: slow, not stuck.

## What it means
The ranks that wait do so for a rank that gets on with its work: loading data, saving a checkpoint, compiling, evaluating. They
will go on when it arrives.

## How it is recognised
The stack of the rank, or of a process for which its siblings wait at a barrier of multiprocessing, or the counters of its outer
loops changed between the two looks, or it stands in a compiler or a checkpoint with CPU or I/O going on; or it reads from a TCP
connection through which bytes came between the looks while it asked for nothing new (`tcp_info` of the kernel).

## What to do
Nothing, if the limit of the process group is longer than the work; otherwise move the work before the collective, share it
among the ranks, or raise the time-out of that one group.

## How to prevent it
Prepare and cache data before the launch; write checkpoints asynchronously; balance the shards.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.awaited import is_python
from ...analysis.case import Case, Root
from ...analysis.dead_children import polled_for
from ...analysis.progress import works
from ...analysis.standing import Standing
from ...analysis.waits.collective import arrived
from ...analysis.waits.process_barrier import at_barrier
from ...model.diagnosis import Certainty, Finding, Kind
from ...model.process import Role
from .. import make_rule
from .._say import at, ranks_of, roots, stands, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    for root, standing in roots(case):
        if not case.stuck(root.age_s) or not _lags(case, root, standing):
            continue
        if not works(standing) or (not root.waiters and arrived(standing)):
            continue  # who is in a call that lasts, and misses nobody there, is not behind
        if case.snapshot.live and polled_for(standing, case.by_host[standing.member.ref.host]):
            continue  # what it counts is how often it asked in vain
        unseen = standing.thread is None and is_python(standing.member.process)
        place = f", in {at(standing.user_frame)}" if not unseen else "; whether it gets on only its stacks could tell"
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.POSSIBLE if unseen else Certainty.LIKELY,
            title=f"{who(standing.member.process)} is behind but works{place}",
            ranks=ranks_of(standing), processes=(standing.member.process,), because=(stands(standing), *waited_for(root)),
            next=("rankscope diagnose --sweeps 3 --interval 10",),
        )  # fmt: skip


def _lags(case: Case, root: Root, standing: Standing) -> bool:
    """Whether others are ahead of it: of programs without ranks, siblings that have come to a barrier of all. Whoever waits for
    something else of a process, such as its end or a lock, is not."""
    if standing.member.role in (Role.RANK, Role.DATALOADER_WORKER):
        return True
    ahead = (case.standings.get(one.ref) for one in case.siblings_of(standing.member) if one.ref in root.waiters)
    return standing.member.role is Role.OTHER and any(one is not None and at_barrier(one) for one in ahead)


RULE = make_rule(__name__, __doc__, "straggler-slow-rank", 90, check)
