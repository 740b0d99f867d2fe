"""A program waits for its pool, and the workers of the pool end before any of them gives a result.

## What it means
`multiprocessing.Pool` starts a new worker for each one that ends, without a word and without a limit. Where workers cannot
begin (the main program runs again in each of them, for want of `if __name__ == "__main__":`; an import or the initializer
fails; the function is not found in a notebook's `__main__`) that goes on for ever: the machine is busy, and `map()` or
`get()` never returns.

## How it is recognised
The process waits for a result of its only pool. The thread of the pool that takes results has slept for longer than
`--stuck-after`; every worker that was seen began after that, and the pool has no limit of tasks per worker, so those before
them have ended. Where none was there, all had just ended.

## What to do
Read the first traceback in the program's output: each worker prints why it ends. Guard what the script starts by
`if __name__ == "__main__":`; put functions for workers into a module. `concurrent.futures.ProcessPoolExecutor` raises
BrokenProcessPool instead.

## How to prevent it
Scripts that can be imported without doing anything; a time-out in `get()`.

## Links
https://docs.python.org/3/library/multiprocessing.html#the-spawn-and-forkserver-start-methods
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.pools import awaits_pool, below, handlers, owned, renews_workers, silent_s
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason
from ...model.evidence.threads import Threads
from ...model.process import TICKS_PER_S, Role
from ...model.ranks import RankSet
from ...model.words import counted, span
from .. import make_rule
from .._say import at, who

# The first workers begin before the thread that takes their results (multiprocessing/pool.py); the two clocks agree so well.
_CLOCKS_S = 1.0
_NEXT = ('if __name__ == "__main__":   # around what the script starts; read the first traceback of a worker',)


def check(case: Case) -> Iterator[Finding]:
    for standing in case.standings.values() if case.snapshot.live else ():
        owner = standing.member
        silent = silent_s(owner) if awaits_pool(standing) and owned(owner) == 1 else None
        if silent is None or not case.stuck(silent) or renews_workers(owner):
            continue
        workers = [one for one in below(case.by_host[owner.ref.host], owner) if one.role is Role.OTHER]
        ages = [age for one in workers if (age := _age_s(owner, one)) is not None]
        oldest = max(ages, default=0.0)
        young = len(ages) == len(workers) and oldest < silent - _CLOCKS_S
        if young and (workers or "worker" not in handlers(owner)):  # a pool of threads has its workers inside
            yield _finding(standing, workers, oldest, silent)


def _age_s(owner: Member, worker: Member) -> float | None:
    """How long before the last look at its owner a worker began, also of one that is no more."""
    kernel = owner.latest(Threads)
    if kernel is None or kernel.uptime_s is None or not owner.ref.started or not worker.ref.started:
        return None
    return max(0.0, kernel.uptime_s - (worker.ref.started - owner.ref.started) / TICKS_PER_S)


def _finding(standing: Standing, workers: list[Member], oldest_s: float, silent_s: float) -> Finding:
    owner = standing.member
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(owner.process)} waits in {at(standing.user_frame)} for a pool whose workers end before they give a result",
        ranks=RankSet([owner.rank] if owner.rank is not None else []),
        processes=(owner.process, *(one.process for one in workers)),
        because=(
            Reason(f"the thread of the pool that takes results has had none for {span(silent_s)}", "kernel", owner.ref),
            _ended(owner, workers, oldest_s),
        ),
        next=_NEXT,
    )  # fmt: skip


def _ended(owner: Member, workers: list[Member], oldest_s: float) -> Reason:
    if not workers:
        return Reason("no worker was there when it was looked at: all had ended", "kernel", owner.ref)
    seen = f"of {counted(len(workers), 'worker')} seen the oldest began {span(oldest_s)} ago: those before have ended"
    return Reason(seen, "kernel", workers[0].ref)


RULE = make_rule(__name__, __doc__, "child-dead", 21, check)
