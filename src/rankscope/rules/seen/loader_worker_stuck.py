"""A loader worker does not deliver, its rank waits for the batch, and the other ranks wait for that rank.

## What it means
The rank's main process asks its DataLoader for the next batch. The worker that has to deliver it stands still in the job's own
dataset code or in a library, and nobody notices, since the loader's time-out is off by default.

## How it is recognised
The rank's main thread is in the loader, one of its workers is not idle (its stack is in the fetch, not in the wait for work)
and has not moved. Workers in state D, stopped, or waiting for a lock copied by fork have rules of their own.

## What to do
Read the worker's stack: `rankscope stacks pid:PID`. A remote read needs a time-out; a library that keeps threads needs
`multiprocessing_context="spawn"` or `"forkserver"`. `num_workers=0` proves where it comes from.

## How to prevent it
`DataLoader(timeout=…)`, time-outs in the dataset, no threads or clients opened before the workers are forked.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.progress import advances
from ...analysis.standing import idle_worker
from ...model.diagnosis import Finding, Kind, Step
from ...model.process import Role
from .. import make_rule
from .._say import at, certainty, just_come, old_roots, ranks_of, stands, waited_for, who

_ELSEWHERE = {WaitKind.STORAGE, WaitKind.FILE_LOCK, WaitKind.FILE_BATON}


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case):
        if standing.member.role is not Role.DATALOADER_WORKER or idle_worker(standing) or advances(standing):
            continue
        if not case.snapshot.live and standing.thread is not None and standing.thread.active:
            continue  # one look at a thread that computes
        if standing.state in ("T", "t", "D", "Z") or standing.kind in _ELSEWHERE:
            continue
        process = standing.member.process
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing),
            title=f"{who(process)} does not deliver: it stands in {at(standing.user_frame)}",
            ranks=ranks_of(standing), processes=(process, *(case.of_rank(process.rank) if process.rank is not None else ())),
            because=(stands(standing), *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step(f"rankscope stacks pid:{process.ref.pid} --children --source", process.ref),
                  "DataLoader(…, num_workers=0) to confirm"),
        )  # fmt: skip


RULE = make_rule(__name__, __doc__, "dataloader-worker-deadlock", 28, check)
