"""Processes wait for a lock that they share, and whoever took it is gone, or is the one that waits.

## What it means
A lock of `multiprocessing` is a semaphore without an owner. A process that is killed (or ends by `terminate()`, `os._exit`) while
it has the lock never gives it back, and each one that asks for it from then on waits for ever: also new workers, and also for the
locks inside a queue, one of which a reader has for as long as it waits for an item. A process that takes a `Lock` twice waits for
itself. And `notify` of a condition (so also `Event.set`) waits until each sleeper has said that it woke; one that was killed in
its sleep never does.

## How it is recognised
A thread waits without a time limit in a semaphore of one that is taken. Each process that shares it counts what it took itself;
these counts are read from memory. None of the processes that map the semaphore has it, or only the one that waits, where no other
thread of it could let go. Where a count could not be read, or somebody gave back what another one took, nothing is said. A mutex
of the C library in shared memory names its owner itself, which has ended. Of a `notify`: all who live and are in the `wait` of a
condition have woken, as they want the lock that the one in `notify` has.

## What to do
Find who died: exit codes, `dmesg` for the OOM killer, `terminate()` and `kill` in the code. Start the whole family anew, since
nothing can give the lock back. For a lock that its waiter has itself: the stack shows the inner place that takes it.

## How to prevent it
No `terminate()` of processes that use queues or locks: send them a message that ends them (None in the queue), and `join()`.
One queue for each worker; a robust mutex (`pthread_mutexattr_setrobust`). `concurrent.futures.ProcessPoolExecutor` notices dead
workers. `RLock` where a function that has the lock calls another one that takes it.

## Links
https://docs.python.org/3/library/multiprocessing.html#multiprocessing.Process.terminate
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.callers import call_of
from ...analysis.case import Case
from ...analysis.identity import name_of
from ...analysis.shared_locks import wanted
from ...analysis.standing import Standing
from ...analysis.threads import possible_holders, views
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet
from ...model.words import counted, verb
from .. import make_rule
from .._say import at, ranks_of, stands, who

_SEVERAL = 4  # as many are named
_NOTIFY, _WAIT = ("multiprocessing/synchronize.py", "notify"), ("multiprocessing/synchronize.py", "wait")


def check(case: Case) -> Iterator[Finding]:
    waiting: dict[tuple[str, int, int], list[Standing]] = {}
    for standing in case.standings.values():
        lock = wanted(standing)
        if standing.member.gone or not case.stuck(standing.still_s):
            continue
        if _notifies(standing) and _all_woken(case, standing):
            yield _unconfirmed(standing)
        if lock is None:
            continue
        if lock.all_told and not lock.holders:
            waiting.setdefault((standing.member.ref.host, lock.inode, lock.owner), []).append(standing)
        elif lock.holders == (standing.member.ref.pid,) and _only_it(standing):
            yield _own(standing)
    for standings in waiting.values():
        yield _left(standings)


def _notifies(standing: Standing) -> bool:
    """Whether it waits in the ``notify`` of a condition that processes share for the word of those who slept."""
    call = call_of(standing)
    asleep = call is not None and call.call == "futex" and call.shared and not call.timed
    return asleep and bool(standing.own_stack) and name_of(standing.own_stack[-1]) == _NOTIFY


def _all_woken(case: Case, notifier: Standing) -> bool:
    """Whether nobody of its host sleeps in such a condition who could still say so."""
    others = (case.standings[one.ref] for one in case.by_host[notifier.member.ref.host] if not one.gone)
    waiting = [one for one in others if one.own_stack and name_of(one.own_stack[-1]) == _WAIT]
    return all((lock := wanted(one)) is not None and notifier.member.ref.pid in lock.holders for one in waiting)


def _only_it(standing: Standing) -> bool:
    """Whether no other thread of the process is there that may have the lock."""
    return not possible_holders(tuple(view for view in views(standing.member) if view.python is not standing.thread))


def _left(standings: list[Standing]) -> Finding:
    first, count = standings[0], len(standings)
    lock = wanted(first)
    why = (
        f"the lock is taken, and none of the {counted(lock.sharers, 'process')} that share it counts it as its own"
        if lock
        else ""
    )
    if lock is not None and lock.owner:
        why = f"the mutex names thread {lock.owner} as its owner, which has ended"
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{counted(count, 'process')} {verb('wait', count)} for a lock in {at(first.user_frame)}; whoever took it is gone",
        ranks=RankSet(one.member.rank for one in standings if one.member.rank is not None),
        processes=tuple(one.member.process for one in standings),
        because=(Reason(why, "shared-locks", first.member.ref), *map(stands, standings[:_SEVERAL])),
        next=(Step("dmesg -T | grep -iE 'killed process|segfault' | tail", first.member.ref),
              Step(f"rankscope stacks pid:{first.member.ref.pid} --source", first.member.ref)),
    )  # fmt: skip


def _unconfirmed(standing: Standing) -> Finding:
    member = standing.member
    return Finding(
        rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(member.process)} waits in {at(standing.user_frame)} until a sleeper has woken, and none of them is left",
        ranks=ranks_of(standing), processes=(member.process,),
        because=(Reason("all who live and waited for this condition have woken: one that slept there is gone", "shared-locks",
                        member.ref), stands(standing)),
        next=(Step("dmesg -T | grep -iE 'killed process|segfault' | tail", member.ref),
              Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref)),
    )  # fmt: skip


def _own(standing: Standing) -> Finding:
    member = standing.member
    return Finding(
        rule=RULE.id, cls="lock-order-deadlock", kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{who(member.process)} waits in {at(standing.user_frame)} for a lock that it has taken itself",
        ranks=ranks_of(standing), processes=(member.process,),
        because=(Reason("of all processes that share the lock only this one counts it as its own", "shared-locks", member.ref),
                 stands(standing)),
        next=(Step(f"rankscope stacks pid:{member.ref.pid} --source", member.ref),
              "an RLock where a function that has the lock calls another one that takes it"),
    )  # fmt: skip


RULE = make_rule(__name__, __doc__, "child-dead", 24, check, yields_to=("pool-lost-a-worker", "lock-copied-by-fork"))
