"""A rank is gone and the others wait for it.

## What it means
A process that should take part in collectives has ended: killed, crashed, or left early. With gloo the peers usually see the
closed connection and fail; with NCCL, or when nobody ends them, they wait until a limit expires.

## How it is recognised
The launcher's numbers say which ranks should run here; one has no living process (none at all, or a zombie), or it
disappeared between the two looks, while other ranks stand in a collective.

## What to do
Look for its end: the first exception in its log, `dmesg` for "Out of memory" or "segfault", the exit code in the launcher's
report. Then end the rest of the job: it cannot recover.

## How to prevent it
A launcher that ends all ranks when one fails; `TORCH_NCCL_ASYNC_ERROR_HANDLING`; shorter time-outs; core files per rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.case import Case
from ..analysis.scene import is_absent
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.process import Process, Role
from ..model.ranks import RankSet, ranks_phrase
from . import Rule
from ._death import dead, ended
from ._say import waited_for


def check(case: Case) -> Iterator[Finding]:
    gone = RankSet(case.ranks) - RankSet(case.by_rank) | RankSet(
        member.rank for member in case.with_role(Role.RANK) if member.rank is not None and dead(member)
    )
    if not gone or not case.snapshot.live or not any(not dead(member) for member in case.with_role(Role.RANK)):
        return
    bodies = tuple(member.process for member in case if dead(member) and member.role in (Role.RANK, Role.OTHER))
    roots = [root for root in case.graph.roots if is_absent(root.ref) or root.ref in {body.ref for body in bodies}]
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.CERTAIN if roots else Certainty.LIKELY,
        title=f"{ranks_phrase(gone)} {'is' if len(gone) == 1 else 'are'} gone: no living process",
        ranks=gone, processes=bodies, because=(*_seen(case, gone, bodies), *(waited_for(roots[0]) if roots else ())),
        next=("dmesg -T | grep -iE 'out of memory|oom|segfault' | tail", "look for the first exception in this rank's log"),
    )  # fmt: skip


def _seen(case: Case, gone: RankSet, bodies: tuple[Process, ...]) -> Iterator[Reason]:
    for body in bodies:
        member = case.by_ref[body.ref]
        yield Reason(f"pid {body.ref.pid} on {body.ref.host} {ended(member)}", "kernel", body.ref)
    if not bodies:
        alive = RankSet(case.by_rank)
        yield Reason(f"the launcher started ranks {case.ranks}; only {ranks_phrase(alive)} are alive", "processes")


RULE = Rule(id="rank-gone", cls="dead-rank", check=check, page=__doc__ or "", order=10)
