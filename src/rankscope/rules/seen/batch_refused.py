"""A loader's worker got no shared memory for a batch, and its rank waits for that batch.

## What it means
Workers of PyTorch's DataLoader hand tensors over in files of /dev/shm. Where that is full (64 MB in a container without
`--shm-size`), the thread that sends a batch fails: it writes a traceback and drops the batch. The worker goes on and waits for
work, the rank waits for the batch for ever, and the others wait for the rank.

## How it is recognised
The rank is in its loader, its workers are idle, and a line of the log tells that the file of one of them could not be had: its
name has the worker's pid (`/torch_PID_…`, aten/src/ATen/MapAllocator.cpp).

## What to do
`df -h /dev/shm` on the rank's host, in its container. `--shm-size=16g` (docker), an `emptyDir` of medium Memory (Kubernetes);
fewer workers, a smaller `prefetch_factor`. Another sharing strategy does not help: both use that memory.

## How to prevent it
A preflight test of the size of /dev/shm. `DataLoader(timeout=…)` turns the wait into an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import OF_LOGS
from ...analysis.case import Case
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.events import Event
from ...model.patterns import regex
from .. import make_rule
from .._say import name, ranks_of, stands, waited_for, who
from ._batches import awaiting

_REFUSED = regex(
    r"unable to (?:allocate shared memory|write to file|mmap|open (?:shared memory|file))[^\n]{0,80}/torch_(?P<pid>\d{1,10})_"
)


def check(case: Case) -> Iterator[Finding]:
    told = _told(case)
    for root, standing, workers in awaiting(case) if told else ():
        process = standing.member.process
        for worker in (one.member.process for one in workers if one.member.ref.pid in told):
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
                certainty=Certainty.LIKELY if case.stuck(root.age_s) else Certainty.POSSIBLE,
                title=f"{who(worker)} got no shared memory for a batch, and {name(case, process.ref)} waits for it",
                ranks=ranks_of(standing), processes=(process, worker),
                because=(Reason(told[worker.ref.pid].text.strip(), OF_LOGS, worker.ref), stands(standing), *waited_for(root)),
                next=(Step("df -h /dev/shm; ls -l /dev/shm", process.ref), "docker run --shm-size=16g …"),
            )  # fmt: skip


def _told(case: Case) -> dict[int, Event]:
    """By the pid in the file's name, the last line that tells of shared memory which could not be had."""
    return {int(found["pid"]): event for event in case.events if (found := _REFUSED.search(event.text))}


RULE = make_rule(__name__, __doc__, "shm-exhausted", 10, check)
