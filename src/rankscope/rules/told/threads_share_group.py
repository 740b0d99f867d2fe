"""Two threads of one rank call collectives at the same time.

## What it means
A background thread (an asynchronous checkpoint, a prefetcher, a logger, a weight broadcast) and the training loop
call collectives. Within a rank their order is decided by chance; ranks meet by order, so that one rank's checkpoint
call may meet another's gradient call. On one process group that is a mismatch or a deadlock; on two groups of one
device it may still be a cycle.

## How it is recognised
In one process two Python threads stand in calls of `torch.distributed` (or of MPI, Horovod, JAX's multihost tools) at
once. Threads of the library itself (watchdog, autograd) do not count, nor calls whose code names different groups.

## What to do
Give the background work a group of its own, on the CPU: `dcp.async_save(…, process_group=dist.new_group(backend="gloo"))`.
Wait for its future before the next barrier of the same group. Where a
thread must share the group, let one thread make all calls and hand it work by a queue.

## How to prevent it
One thread per communicator. Case: https://github.com/KempnerInstitute/KempnerForge/issues/104
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.frames import wait_of
from ...model.diagnosis import Finding
from .. import make_rule
from ._findings import members, simple
from ._signs import LIKELY
from ._threads_calling import calls_at_once, coded_apart, said_apart

_STEPS = (
    'dcp.async_save(…, process_group=dist.new_group(backend="gloo"))   # a group of its own for the other thread',
    "rankscope stacks --ranks 0   # which threads are in collectives",
)


def check(case: Case) -> Iterator[Finding]:
    if case.snapshot.live:
        return  # there the recorders tell which call belongs to which group
    for account in accounts(case):
        calling = calls_at_once(account)
        ops = {wait_of(seen.stack).op for seen in calling.values()}
        if not calling or said_apart(case) or coded_apart(case, ops):
            continue
        because = [f"{name}: {wait_of(seen.stack).op}" for name, seen in list(calling.items())[:4]]
        title = "two threads of one rank are in collectives at the same time"
        yield simple(RULE, title, LIKELY, because, _STEPS, account.ranks, processes=members(case, account))
        return


RULE = make_rule(__name__, __doc__, "collective-mismatch", 43, check)
