"""A rank waits for its next batch, and no worker of its loader is at work on it.

## What it means
The workers have nothing to do, the rank has nothing to train on, and the others wait for it. The batch is between them: the
thread of the rank that copies batches into pinned memory does not come back from one (`pin_memory=True`; a driver that hangs, or
a batch with a `pin_memory` method of its own), or an index or a batch was lost on its way.

## How it is recognised
The rank's main thread is in the loader, its workers live and are idle, and none of them has moved. Where the pinning thread
stands in the middle of a batch, it is named with its place. Both sides ask again every five seconds, so that their own age says
nothing; how long the threads that feed the queues have had nothing to send does.

## What to do
`rankscope stacks pid:PID` shows the pinning thread; `--native` where it is inside the driver. `pin_memory=False` proves it.
Where it waits for work, too, something was lost: `persistent_workers=False` and a look at custom samplers and queues.

## How to prevent it
`DataLoader(timeout=…)` turns the wait into an error. The loader's own notes on its threads are in torch/utils/data/dataloader.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.identity import module_path_of
from ...analysis.standing import Standing
from ...analysis.threads import ThreadView, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.words import counted, span, verb
from .. import make_rule
from .._say import at, certainty, just_come, ranks_of, stands, waited_for, who
from ._batches import awaiting, silent_s

_PINS = "torch/utils/data/_utils/pin_memory.py"


def check(case: Case) -> Iterator[Finding]:
    for root, standing, workers in awaiting(case):
        process, pinning = standing.member.process, _pinning(standing)
        what = (
            f"its thread that pins batches stands in {at(pinning.wait.user_frame)}"
            if pinning is not None and pinning.wait.user >= 0
            else "its thread that pins batches does not come back from one"
            if pinning is not None
            else "all workers of its loader are idle"
        )
        idle = f"its {counted(len(workers), 'loader worker')} {verb('wait', len(workers))} for work"
        silent = silent_s(standing, workers) if pinning is None else None
        long = silent is not None and case.stuck(silent)
        because = [stands(standing), Reason(idle, "python-stack", process.ref)]
        if silent is not None and long:
            said = f"no index has been sent to a worker and no batch by one for {span(silent)}"
            because.append(Reason(said, "kernel", process.ref))
        sure = Certainty.LIKELY if long and case.stuck(root.age_s) else certainty(case, root, standing)
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=sure,
            title=f"{who(process)} waits for its next batch: {what}", ranks=ranks_of(standing), processes=(process,),
            because=(*because, *waited_for(root)), against=() if long else tuple(just_come(case, standing)),
            next=(Step(f"rankscope stacks pid:{process.ref.pid} --children", process.ref),
                  "DataLoader(…, pin_memory=False) to confirm"),
        )  # fmt: skip


def _pinning(standing: Standing) -> ThreadView | None:
    """The thread that is in the middle of pinning a batch."""
    for view in views(standing.member):
        inside = [frame.function.rsplit(".", 1)[-1] for frame in view.stack if module_path_of(frame) == _PINS]
        if "pin_memory" in inside and view.asleep:
            return view
    return None


RULE = make_rule(__name__, __doc__, "dataloader-worker-deadlock", 28, check)
