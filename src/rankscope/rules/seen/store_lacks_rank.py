"""The store shows which ranks have not come to the first meeting.

## What it means
Every rank that enters `init_process_group` leaves its address in the job's store and waits for the addresses of the others. A
rank whose key is missing has not come: it was not started, died before, is still importing, or stands before the call.

## How it is recognised
The names of the store's keys are read (never their values, nothing is written): keys of some ranks are there, others are not,
and ranks that came stand in the meeting. A rank that is on its way and works is a straggler, and is not named here.

## What to do
Look at the process of the named rank: does it run, and where does it stand? If it does not run, compare the numbers given to
the launchers of all nodes.

## How to prevent it
One launcher for all nodes; a short time-out for the first meeting; imports and downloads before the launch.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.collectives.meeting import arrivals
from ...analysis.frame_tables import WaitKind
from ...analysis.progress import works
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.evidence.store import StoreKeys
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule


def check(case: Case) -> Iterator[Finding]:
    looks = [
        item.record for sweep in case.snapshot.sweeps for item in sweep.items if isinstance(item.record, StoreKeys)
    ]
    waiting = {rank: standing for rank, member in case.by_rank.items()
               if (standing := case.standings.get(member.ref)) is not None and standing.kind is WaitKind.RENDEZVOUS}  # fmt: skip
    keyless = arrivals(looks).missing(case.world_size or 0) if looks else RankSet()
    at_work = RankSet(
        rank for rank in keyless if _works(case, rank)
    )  # late, not absent: the straggler's rule speaks of it
    missing = keyless - RankSet(waiting) - at_work  # the store's host waits for all before it writes a key of its own
    come = RankSet(range(case.world_size or 0)) - keyless
    if not missing or not waiting:
        return
    ages = [standing.still_s for standing in waiting.values() if standing.still_s is not None]
    if case.snapshot.live and ages and not case.stuck(max(ages)):
        return
    has = "has" if len(missing) == 1 else "have"
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
        certainty=Certainty.CERTAIN if case.snapshot.live and ages else Certainty.LIKELY,
        title=f"{ranks_phrase(missing)} {has} not come to init_process_group", ranks=missing,
        processes=tuple(process for rank in missing for process in case.of_rank(rank)),
        because=(Reason(f"the store at {looks[-1].address} has keys of {ranks_phrase(come)}, none of {ranks_phrase(keyless)}",
                        "store"), Reason(_waits(RankSet(waiting)), "python-stack")),
        next=("rankscope diagnose   # on the host of the missing rank",),
    )  # fmt: skip


def _works(case: Case, rank: int) -> bool:
    member = case.by_rank.get(rank)
    standing = case.standings.get(member.ref) if member else None
    return standing is not None and works(standing)


def _waits(ranks: RankSet) -> str:
    return f"{ranks_phrase(ranks)} {'waits' if len(ranks) == 1 else 'wait'} in the meeting"


RULE = make_rule(__name__, __doc__, "rank-never-joined", 54, check)
