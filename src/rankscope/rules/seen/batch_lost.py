"""A rank waits for its next batch, and no worker of its loader is at work on it.

## What it means
The workers have nothing to do, the rank has nothing to train on, and the others wait for it. The batch is between them: the
thread of the rank that copies batches into pinned memory does not come back from one (`pin_memory=True`; a driver that hangs, or
a batch with a `pin_memory` method of its own), or an index or a batch was lost on its way.

## How it is recognised
The rank's main thread is in the loader, its workers live and are idle, and none of them has moved. Where the pinning thread
stands in the middle of a batch, it is named with its place.

## What to do
`rankscope stacks pid:PID` shows the pinning thread; `--native` where it is inside the driver. `pin_memory=False` proves it.
Where it waits for work, too, something was lost: `persistent_workers=False` and a look at custom samplers and queues.

## How to prevent it
`DataLoader(timeout=…)` turns the wait into an error. The loader's own notes on its threads are in torch/utils/data/dataloader.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import module_path_of
from ...analysis.progress import advances
from ...analysis.standing import Standing, idle_worker
from ...analysis.threads import ThreadView, views
from ...model.diagnosis import Finding, Kind, Reason, Step
from ...model.process import Role
from ...model.words import counted, verb
from .. import make_rule
from .._say import at, certainty, just_come, old_roots, pointed_at, ranks_of, stands, waited_for, who

_PINS = "torch/utils/data/_utils/pin_memory.py"


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case) if case.snapshot.live else ():
        if standing.kind is not WaitKind.DATA or standing.member.role is Role.DATALOADER_WORKER:
            continue
        asked = root.waiters or pointed_at(case, standing)
        workers = _workers(case, standing) if asked else []
        if not workers or advances(standing) or any(one.member.dead or not idle_worker(one) for one in workers):
            continue
        process, pinning = standing.member.process, _pinning(standing)
        what = (
            f"its thread that pins batches stands in {at(pinning.wait.user_frame)}"
            if pinning is not None and pinning.wait.user >= 0
            else "its thread that pins batches does not come back from one"
            if pinning is not None
            else "all workers of its loader are idle"
        )
        idle = f"{counted(len(workers), 'loader worker')} {verb('wait', len(workers))}"
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing),
            title=f"{who(process)} waits for its next batch: {what}", ranks=ranks_of(standing), processes=(process,),
            because=(stands(standing), Reason(f"its {idle} for work", "python-stack", process.ref), *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step(f"rankscope stacks pid:{process.ref.pid} --children", process.ref),
                  "DataLoader(…, pin_memory=False) to confirm"),
        )  # fmt: skip


def _workers(case: Case, standing: Standing) -> list[Standing]:
    children = case.children_of(standing.member.ref)
    return [case.standings[one.ref] for one in children if one.role is Role.DATALOADER_WORKER]


def _pinning(standing: Standing) -> ThreadView | None:
    """The thread that is in the middle of pinning a batch."""
    for view in views(standing.member):
        inside = [frame.function.rsplit(".", 1)[-1] for frame in view.stack if module_path_of(frame) == _PINS]
        if "pin_memory" in inside and view.asleep:
            return view
    return None


RULE = make_rule(__name__, __doc__, "dataloader-worker-deadlock", 28, check)
