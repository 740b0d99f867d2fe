"""A lone program tries again and again, each time in vain.

## What it means
A connection is refused, a file is not there, memory is not given: the program catches the error, pauses and tries again, without
a limit. A watcher that waits for a file to come does the same, and is well: so this is a note, and no cause.

## How it is recognised
Somebody pointed at the program. At every look it pauses in the handler of the same error, and its loops do not advance. Time
limits of queues and questions of those who do not block (`EAGAIN`, `EINTR`) are no such errors; a disk that is full has a rule of
its own.

## What to do
Read which error it is, and see to what it tries to reach. `rankscope diagnose --sweeps 3 --interval 10` shows whether it gets on.

## How to prevent it
A limit of tries, and a line in the log for each of them.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.handled import FULL, handled, in_words
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Step
from .. import make_rule
from .._say import at, handling, pointed_at, ranks_of, stands, who

_NO_TROUBLE = (*FULL, errno.EAGAIN, errno.EINTR)


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values() if case.snapshot.live else ():
        if not pointed_at(case, standing) or not _pauses_in_handler(standing) or advances(standing):
            continue
        member = standing.member
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.NOTE, certainty=Certainty.POSSIBLE,
            title=f"{who(member.process)} tries again and again in {at(standing.user_frame)}, each time in vain",
            ranks=ranks_of(standing), processes=(member.process,), because=(stands(standing), *handling(standing)),
            against=("how long it has tried nothing tells, and the next try may succeed",),
            next=("rankscope diagnose --sweeps 3 --interval 10",
                  Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref)),
        )  # fmt: skip


def _pauses_in_handler(standing: Standing) -> bool:
    """Whether at every look, of several, it pauses in the handler of one error, and wakes in between."""
    errors = {(one.handles, one.errno) for one in standing.looks}
    pauses = standing.kind is WaitKind.SLEEP and standing.wait.user >= 0 and bool(standing.ran)
    told = bool(in_words(standing)) and handled(standing) not in _NO_TROUBLE
    return pauses and told and len(standing.looks) > 1 and len(errors) == 1


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 30, check)
