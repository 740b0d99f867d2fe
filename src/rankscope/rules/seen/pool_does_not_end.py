"""A program ends its pool and waits for workers that do not end.

## What it means
Whoever leaves the `with` block of a `multiprocessing.Pool`, or calls `terminate()`, sends SIGTERM to each worker that lives and
waits for its end without a limit. A worker lives on when something keeps the signal from it: a handler that its parent set
before the fork and that only takes a note (of a preemption, say), a signal that is ignored or blocked.

## How it is recognised
The program stands in the pool's `_terminate_pool` and waits for the end of one worker; that worker sleeps, and neither has run
for longer than `--stuck-after`.

## What to do
`kill -KILL` for the worker frees the program. Where a handler was inherited, let the workers begin without it:
`Pool(n, initializer=signal.signal, initargs=(signal.SIGTERM, signal.SIG_DFL))`.

## How to prevent it
Set handlers after the pool was made, or start workers by `spawn`; `close()` and `join()` in place of `terminate()`.

## Links
https://docs.python.org/3/library/multiprocessing.html#multiprocessing.pool.Pool.terminate
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...analysis.case import Case
from ...analysis.pools import ends_pool
from ...analysis.remembered import remembered
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.process import ProcessRef
from ...model.words import span
from .. import make_rule
from .._say import at, old_roots, ranks_of, stands, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    for root, worker in old_roots(case) if case.snapshot.live else ():
        for owner in _owners(case, worker):
            pid = worker.member.ref.pid
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
                title=f"{who(owner.member.process)} ends its pool in {at(owner.user_frame)}, and worker pid {pid} does not end",
                ranks=ranks_of(owner), processes=(owner.member.process, worker.member.process),
                because=(Reason(f"the pool sent SIGTERM to its workers, and pid {pid} has slept for {span(worker.still_s)}",
                                "kernel", worker.member.ref), stands(owner), *waited_for(root)),
                next=(Step(f"grep -E 'Sig(Blk|Ign|Cgt)' /proc/{pid}/status", owner.member.ref, "bit 15, 0x4000: SIGTERM"),
                      Step(f"rankscope stacks pid:{owner.member.ref.pid} --children", owner.member.ref)),
            )  # fmt: skip


def _owners(case: Case, worker: Standing) -> Iterator[Standing]:
    """Who ends a pool and has long waited for the end of this worker, which sleeps and could end."""
    if worker.state != "S" or worker.ran is not False or not case.stuck(worker.still_s):
        return
    ending = _ending(case)
    for wait in case.graph.to(worker.member.ref) if ending else ():
        if wait.waiter in ending:
            yield ending[wait.waiter]


@remembered
def _ending(case: Case) -> Mapping[ProcessRef, Standing]:
    """Everybody who has long stood still in the end of a pool."""
    still = ((ref, one) for ref, one in case.standings.items() if one.ran is False and case.stuck(one.still_s))
    return {ref: one for ref, one in still if ends_pool(one)}


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 28, check)
