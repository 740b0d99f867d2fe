"""All processes of a program sleep in locks, barriers or events that they share, and nobody is left who could wake one.

## What it means
The objects of `multiprocessing` know no owner. A barrier that one process too few comes to, an event that nobody will set, and a
lock whose holder was killed, or has ended without giving it back, keep everybody for ever.

## How it is recognised
No thread of any process of a program of no ranks has run for longer than `--stuck-after`, and none has a time limit. Processes
sleep in a lock, semaphore, condition or barrier that processes share (the system call is a shared futex); the others wait for
the end of a child, or read from a pipe or connection whose other ends only processes of the program have; a manager whom nobody
asks does not count. Where a sibling of those at a barrier has ended, or waits for its next order elsewhere, it is the one that is
missing. Where somebody could get an item from elsewhere, or waits for the lock of a queue, nothing is said. Of a lock nobody can
tell whether its holder is gone, or one of those who wait has it.

## What to do
Compare the number of parties of a barrier with the processes that came; look for one that ended early (`dmesg`, the exit codes,
the job's output); read the places that are shown.

## How to prevent it
`with lock:` around as little as possible; a time limit for `Barrier.wait` and `Event.wait`; look at `exitcode` of each process.

## Links
https://docs.python.org/3/library/multiprocessing.html#synchronization-primitives
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.callers import call_of
from ...analysis.case import Case, Member
from ...analysis.closed import only_answers, waits_for_members
from ...analysis.frame_tables import WaitKind
from ...analysis.identity import name_of
from ...analysis.own_age import youngest_s
from ...analysis.shared_locks import wanted
from ...analysis.standing import Standing
from ...analysis.threads import heeds_signals
from ...analysis.waits.process_barrier import at_barrier
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.threads import Threads
from ...model.process import Role
from ...model.words import counted, span, verb
from .. import make_rule
from .._death import ended
from .._say import at, who

# What lies between the job's code and a shared lock where somebody waits for an item, which may come from elsewhere.
_FOR_ITEMS = ("queues.py", "pool.py", "connection.py", "managers.py")
_SEVERAL = 4  # as many are named


def check(case: Case) -> Iterator[Finding]:
    if not case.snapshot.live or case.ranks:
        return
    living = [one for one in case.standings.values() if one.member.role is not Role.HELPER and not one.member.gone]
    living = [one for one in living if one.state not in ("Z", "X") and not only_answers(one)]
    asleep = [one for one in living if _sleeps(one)]
    age = youngest_s(living)
    if not asleep or len(living) < 2 or not case.stuck(age) or any(_has_holder(one) for one in asleep):
        return
    if not all(waits_for_members(case, one.member) and (one in asleep or not _in_shared(one)) for one in living):
        return
    readers = [one for one in living if one not in asleep and not _minds(one)]
    left = _ended_early(case, asleep)
    late = _late(case, asleep)
    if late:
        yield _missed(case, asleep, late, age)
        return
    what, cls, against = _what(asleep, bool(left))
    heeding = [one for one in living if _heeds(one.member)]
    count = len(asleep)
    yield Finding(
        rule=RULE.id, cls=cls, kind=Kind.CAUSE, certainty=Certainty.POSSIBLE if heeding else Certainty.LIKELY,
        title=f"{counted(count, 'process')} {verb('wait', count)} for {what} in {at(asleep[0].user_frame)}",
        processes=tuple(one.process for one in (*left, *(one.member for one in asleep))),
        because=(*(Reason(f"{who(one.member.process)} sleeps in {at(one.user_frame)}, on a lock that processes share", "kernel",
                          one.member.ref) for one in asleep[:_SEVERAL]),
                 *(Reason(f"{who(one.member.process)} waits in {at(one.user_frame)} for what only these could bring", "kernel",
                          one.member.ref) for one in readers[:_SEVERAL]),
                 *(Reason(f"pid {one.ref.pid} {ended(one)}", "kernel", one.ref) for one in left[:_SEVERAL]),
                 Reason(f"no thread of the program has run for {span(age)}, and none has a time limit", "kernel")),
        against=(*against, *(f"{who(one.member.process)} has handlers of signals, which may wake others"
                             for one in heeding[:_SEVERAL])),
        next=(Step(f"rankscope stacks pid:{asleep[0].member.ref.pid} --source", asleep[0].member.ref),),
    )  # fmt: skip


def _late(case: Case, asleep: list[Standing]) -> list[Standing]:
    """The siblings at the same work that have not come to the barrier at which all these are."""
    if not all(map(at_barrier, asleep)):
        return []
    inside = {one.member.ref for one in asleep}
    refs = {wait.target for wait in case.graph.waits if wait.waiter in inside and wait.target not in inside}
    return [standing for ref, standing in case.standings.items() if ref in refs]


def _missed(case: Case, asleep: list[Standing], late: list[Standing], age: float | None) -> Finding:
    first, count, place = late[0], len(asleep), at(asleep[0].user_frame)
    whom = ", ".join(who(one.member.process) for one in late[:_SEVERAL]) + (" has" if len(late) == 1 else " have")
    return Finding(
        rule=RULE.id, cls="collective-missed-by-rank", kind=Kind.CAUSE, certainty=Certainty.LIKELY,
        title=f"{whom} not come to the barrier at which {counted(count, 'process')} {verb('wait', count)} in {place}",
        processes=tuple(one.member.process for one in late),
        because=(*(Reason(f"{who(one.member.process)} waits in {at(one.user_frame)} for what only others could bring", "kernel",
                          one.member.ref) for one in late[:_SEVERAL]),
                 Reason(f"no thread of the program has run for {span(age)}, and none has a time limit", "kernel")),
        next=(Step(f"rankscope stacks pid:{first.member.ref.pid} --source", first.member.ref),
              "let each of them come to each barrier, also where it has nothing to do"),
    )  # fmt: skip


def _has_holder(standing: Standing) -> bool:
    """Whether it waits for a lock of which it was seen who has it."""
    lock = wanted(standing)
    return lock is not None and bool(lock.holders)


def _heeds(member: Member) -> bool:
    """Whether it is known to have handlers of signals."""
    kernel = member.latest(Threads)
    return kernel is not None and kernel.caught is not None and heeds_signals(member)


def _ended_early(case: Case, asleep: list[Standing]) -> list[Member]:
    """The children of the same parents that have ended already."""
    siblings = {one.ref: one for standing in asleep for one in case.siblings_of(standing.member) if one.dead}
    return list(siblings.values())


def _what(asleep: list[Standing], one_ended: bool) -> tuple[str, str, tuple[str, ...]]:
    """What they wait for, in words, with its class, and what speaks against that."""
    ways = {_way(one) for one in asleep}
    if ways == {"barrier"} and one_ended:
        return "a barrier (one of their siblings has ended)", "child-dead", ()
    if ways == {"barrier"}:
        return "a barrier to which nobody is left who could come", RULE.cls, ()
    if ways == {"lock"}:
        doubt = "one of those who wait may have it itself, or a lock that another one wants"
        return "a lock that nobody is left to give back", "child-dead", (doubt,)
    return "what nobody is left to tell them (a lock, a condition, an event)", RULE.cls, ()


def _way(standing: Standing) -> str:
    names = [name_of(frame) for frame in standing.own_stack[standing.wait.user + 1 :]]
    if ("threading.py", "wait") in names:
        return "barrier"
    return (
        "event" if any(file == "multiprocessing/synchronize.py" and name == "wait" for file, name in names) else "lock"
    )


def _in_shared(standing: Standing) -> bool:
    """Whether its deciding thread sleeps without a time limit on a word of memory that processes share."""
    call = call_of(standing)
    return call is not None and call.call == "futex" and call.shared and not call.timed


def _sleeps(standing: Standing) -> bool:
    """Whether it sleeps there, and not for an item."""
    inner = [name_of(frame)[0] for frame in standing.own_stack[standing.wait.user + 1 :]]
    items = any(file.startswith("multiprocessing/") and file.endswith(_FOR_ITEMS) for file in inner)
    return _in_shared(standing) and not items


def _minds(standing: Standing) -> bool:
    """Whether it waits for the end of a child."""
    call = call_of(standing)
    ends = call is not None and call.call in ("wait4", "waitid")
    return standing.kind is WaitKind.CHILD and ends


RULE = make_rule(
    __name__, __doc__, "rank-stuck-in-user-code", 26, check,
    yields_to=("shared-lock-left", "locks-crosswise", "pool-lost-a-worker", "lock-copied-by-fork", "process-stopped"),
)  # fmt: skip
