"""Programs ask again and again to make a file or directory that exists: a lock of their own kind that nobody gives back.

## What it means
A lock is a directory or file that only one can create (`os.mkdir`, `O_CREAT | O_EXCL`, `os.link`). Who held it was killed, or
belongs to another run; the name stays, and everybody tries for ever.

## How it is recognised
The interpreter tells which error a thread is handling: it pauses in the handler of "File exists", wakes now and then, and gets no
further. No other rank of the job (or child of a program without ranks) is at work or stands elsewhere, so that none of them can
be the one that holds it. How long this has lasted nothing tells, unless others wait for the one that tries.

## What to do
Look at the line that is shown for the name, see who made it (`ls -ld --time-style=full-iso NAME`), and remove it when that
process no longer lives.

## How to prevent it
`fcntl.flock` or `filelock`, whose locks end with their holder; a lock that names its owner, and a time limit.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.handled import handled
from ...analysis.in_sight import minded
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from .._say import at, handling, pointed_at, ranks_of, stands, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    tries = {ref: one for ref, one in case.standings.items() if _tries(case, one)}
    roots = [root for ref in tries if (root := case.graph.root(ref)) is not None]
    # A parent that minds them tells nothing of how long they ask.
    waited = [root for root in roots if root.waiters and not minded(case, root)]
    waits = {wait.waiter for wait in case.graph.waits} if tries else set()
    if not tries or any(_may_hold(ref, one, tries, waits) for ref, one in case.standings.items()):
        return
    asked = [root for root in waited if case.stuck(root.age_s)]
    if waited and not asked and all(root.age_s is not None for root in waited):
        return  # who waits for them has only begun to: another program may give it back in a moment
    first = next(iter(tries.values()))
    yield Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY if asked else Certainty.POSSIBLE,
        title=f"{_whom(tries)} again and again for what exists already, in {at(first.user_frame)}",
        ranks=RankSet(rank for one in tries.values() for rank in ranks_of(one)),
        processes=tuple(one.member.process for one in tries.values()),
        because=(*(reason for one in list(tries.values())[:4] for reason in _reasons(one)),
                 *(reason for root in asked[:1] for reason in waited_for(root))),
        against=("another program may hold it and give it back; see whether its maker lives",),
        next=(Step(f"rankscope stacks pid:{first.member.ref.pid} --source", first.member.ref),
              "rankscope diagnose --sweeps 3 --interval 10"),
    )  # fmt: skip


def _whom(tries: dict[ProcessRef, Standing]) -> str:
    members = [one.member for one in tries.values()]
    ranks = RankSet(member.rank for member in members if member.rank is not None)
    if len(members) == 1:
        return f"{who(members[0].process)} asks"
    return f"{ranks_phrase(ranks)} ask" if len(ranks) == len(members) else f"{len(members)} processes ask"


def _reasons(standing: Standing) -> tuple[Reason, ...]:
    return *handling(standing), stands(standing)


def _tries(case: Case, standing: Standing) -> bool:
    of_no_job = standing.member.role is Role.OTHER and not case.ranks
    worker = standing.member.role is Role.RANK or of_no_job or pointed_at(case, standing)
    pauses = standing.kind is WaitKind.SLEEP and standing.wait.user >= 0 and not advances(standing)
    return worker and pauses and handled(standing) == errno.EEXIST


def _may_hold(ref: ProcessRef, standing: Standing, tries: dict[ProcessRef, Standing], waits: set[ProcessRef]) -> bool:
    """Whether a process of the job's work neither tries itself nor waits for somebody: it may be the holder."""
    works = standing.member.role in (Role.RANK, Role.OTHER)
    return works and ref not in tries and ref not in waits and not standing.member.dead


RULE = make_rule(__name__, __doc__, "file-lock-stale", 26, check)
