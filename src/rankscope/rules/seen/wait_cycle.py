"""Processes wait for each other in a circle.

## What it means
Nobody is absent: each member of the circle waits for the next one. Two ranks that both send first (and whose messages are too
large to be buffered), both receive first, or that took two groups or two file locks in opposite order never get on. Neither do
a parent that waits for the end of its child and the child that writes into a full pipe that the parent does not read, two
programs that both write before they read, one that has a lock and waits for the results, or the answer to a remote call, of
others who need it, or a rank that asks another one over a connection which waits for it in a collective meanwhile.

## How it is recognised
The wait-for graph has a closed circle from which no wait leads out, and each of its members has stood still for longer than
`--stuck-after`; where all of them poll for lock files, others have waited for them for that long. A sender and the receiver of
its message are no circle: the message is under way. Where those who wait for messages have another thread in the job's code that
is not asleep for good, it may send one: then the circle is possible, and of processes that are no ranks just noted.

## What to do
Break the circle at its definition: order sends and receives by parity or put both into one `batch_isend_irecv`; use one global
order of groups and of locks on all ranks; `communicate()` instead of `wait()` where a child's output goes into a pipe.

## How to prevent it
No choice of order that depends on the rank; non-blocking sends; time-outs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.answering import ASKS, answering, asking_instead, kept_from_answering
from ...analysis.awaited import unsure, writes
from ...analysis.callers import call_of
from ...analysis.case import Case
from ...analysis.ends import fifo
from ...analysis.frame_tables import WaitKind
from ...analysis.own_age import circle_s
from ...analysis.shared_locks import keepers
from ...analysis.standing import Standing
from ...analysis.threads import may_act_beside
from ...analysis.under_way import under_way
from ...analysis.waits.fifo import takes_orders
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Wait
from ...model.evidence.blocked import Blocked
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span
from .. import make_rule
from .._say import at, name, who

_LOCKS = {WaitKind.FILE_LOCK, WaitKind.FILE_BATON, WaitKind.LOCK}
_WRITE = ("write", "writev", "pwrite64")
_NAMED = 4
_MOST_STEPS = 64  # of a circle of a thousand ranks nobody reads each
_MOST_FREE = 4
_TALK = {WaitKind.P2P, WaitKind.SOCKET, WaitKind.PIPE}
_MEETS = {WaitKind.COLLECTIVE, WaitKind.BACKWARD}
# Of a rank that asks, beside the collectives, one which waits for it in a collective.
_ASIDE = "rank-stuck-in-user-code"


def check(case: Case) -> Iterator[Finding]:
    for cycle in case.graph.cycles:
        age = circle_s(case, cycle)
        cls = _class(case, cycle)
        if cls is None or (age is not None and not case.stuck(age)):
            continue
        free = tuple(_free(case, cycle)) if cls in (RULE.cls, _ASIDE) else ()
        of_ranks = any(case.by_ref[ref].role is Role.RANK for ref in cycle if ref in case.by_ref)
        yield Finding(
            rule=RULE.id, cls=cls, kind=Kind.NOTE if free and not of_ranks else Kind.CAUSE,
            certainty=Certainty.POSSIBLE if free else _sure(case, cycle, age),
            title=f"{len(cycle)} processes wait for each other in a circle: " + ", ".join(name(case, ref) for ref in cycle[:4]),
            ranks=_aside(case, cycle) if cls == _ASIDE else _ranks(case, cycle),
            processes=tuple(case.by_ref[ref].process for ref in cycle if ref in case.by_ref),
            because=(*itertools.islice(_steps(case, cycle), _MOST_STEPS),
                     *itertools.chain.from_iterable(_under_lock(case, ref) for ref in cycle),
                     Reason(f"nobody in the circle has moved for {span(age)}", "kernel")),
            against=free[:_MOST_FREE],
            next=("rankscope stacks --source", *_cure(case, cls, cycle)),
        )  # fmt: skip


def _cure(case: Case, cls: str, cycle: tuple[ProcessRef, ...]) -> Iterator[str]:
    """What to change in the program, where the kind of the circle tells."""
    standings = [case.standings[ref] for ref in cycle if ref in case.standings]
    kinds = {one.kind for one in standings}
    if cls == "queue-pipe-full" and WaitKind.CHILD in kinds:
        yield "communicate(), or read all output before wait(): who writes into a full pipe cannot end"
    elif cls == "queue-pipe-full":
        yield "read in a thread of its own, or only after the other side has read all: pipes hold 64 KiB"
    elif cls == "lock-order-deadlock" and kinds <= _LOCKS:
        yield "take these locks in one order everywhere"
    elif cls == "lock-order-deadlock":
        yield "give the lock back (end the transaction) before you wait for those who need it"
    elif cls == _ASIDE:
        yield "answer in a thread of its own, or ask before the others enter the collective; a time-out on the question"
    elif kinds == {WaitKind.P2P} and all(one.wait.op in ("send", "recv") for one in standings):
        yield "even ranks send first and odd ones receive first, or dist.batch_isend_irecv([...]) on all"


def _free(case: Case, cycle: tuple[ProcessRef, ...]) -> Iterator[str]:
    """Threads of the members beside those that wait: one of them may send what the others wait for."""
    for standing in (case.standings[ref] for ref in cycle if ref in case.standings):
        for view in may_act_beside(standing)[:1]:
            whose = who(standing.member.process)
            yield f"{view.name} of {whose} stands in {at(view.wait.user_frame)}: it may send what the others wait for"


def _sure(case: Case, cycle: tuple[ProcessRef, ...], age: float | None) -> Certainty:
    """A circle that has an age is likely; one that rests on what somebody may be waiting on, among other things, possible."""
    open_ones = any(
        ref in case.by_ref and (unsure(case.by_ref[ref]) or _may_serve(case.standings[ref])) for ref in cycle
    )
    return Certainty.POSSIBLE if age is None or open_ones else Certainty.LIKELY


def _may_serve(standing: Standing) -> bool:
    """Whether it is no rank and opens a FIFO, or reads one: whoever gives it orders may be no part of the job."""
    return takes_orders(standing) or (standing.member.role is not Role.RANK and bool(fifo(standing)))


def _ranks(case: Case, cycle: tuple[ProcessRef, ...]) -> RankSet:
    """The one rank that got into the circle with its own helpers; between ranks nobody is more at fault than another."""
    ranks = RankSet(member.rank for ref in cycle if (member := case.by_ref.get(ref)) and member.rank is not None)
    return ranks if len(ranks) == 1 else RankSet()


def _aside(case: Case, cycle: tuple[ProcessRef, ...]) -> RankSet:
    """The ranks of a circle that are in no collective."""
    members = (case.by_ref[ref] for ref in cycle if ref in case.standings and case.standings[ref].kind not in _MEETS)
    return RankSet(one.rank for one in members if one.rank is not None)


def _class(case: Case, cycle: tuple[ProcessRef, ...]) -> str | None:
    standings = [one for ref in cycle if ref in case.standings for one in _who_wait(case.standings[ref])]
    kinds = {WaitKind.PIPE if _fills(standing) else standing.kind for standing in standings}
    if kinds & _LOCKS or _of_locks(case, cycle) or any(_under_lock(case, ref) for ref in cycle):
        return "lock-order-deadlock"
    if kinds == {WaitKind.PIPE} and any(map(_writes, standings)):
        return "queue-pipe-full"  # each writes until the other one reads
    if kinds == {WaitKind.IDLE, WaitKind.PIPE}:
        return "queue-pipe-full"  # an event loop awaits the end of a command, whose output it does not read
    if kinds <= _TALK:
        return None if _silent(case, cycle) else "p2p-order-deadlock"
    if WaitKind.CHILD in kinds and kinds <= {WaitKind.CHILD, WaitKind.PIPE}:
        return "queue-pipe-full"  # who reads from its parent is waited for; in a circle it writes
    if WaitKind.P2P in kinds and kinds <= {*_TALK, WaitKind.COLLECTIVE} and not case.comparison.cycles:
        return "p2p-order-deadlock"  # a message and a collective: recorders of gloo hold only one of them
    if WaitKind.SOCKET in kinds and kinds <= {*_MEETS, WaitKind.SOCKET}:
        return None if _silent(case, cycle) else _ASIDE
    if kinds & _MEETS:
        return None if case.collectives else "collective-cycle"  # recorders name the groups
    return None


def _of_locks(case: Case, cycle: tuple[ProcessRef, ...]) -> bool:
    """Whether one of them asks for a file lock of another one, which waits for it by way of the others: who never waits in the
    kernel (SQLite) naps in between. Or for a lock of multiprocessing, which that one has."""
    pids = {(ref.host, ref.pid) for ref in cycle}
    asking = [(ref, keepers(case.standings[ref])) for ref in cycle if ref in case.standings]
    return any((ref.host, pid) in pids for ref, found in asking for pid in found if pid != ref.pid)


def _under_lock(case: Case, ref: ProcessRef) -> tuple[Reason, ...]:
    """Where a process answers remote calls, one of which makes a call itself while others wait for a lock: it has that lock, and
    what it calls comes back for it."""
    member = case.by_ref.get(ref)
    threads = answering(member) or kept_from_answering(member) if member is not None else ()
    asks = [one for one in threads if one.kind in ASKS]
    wants = [one for one in threads if one.kind is WaitKind.LOCK]
    if not (asks and wants):
        return ()
    whose = name(case, ref)
    return (
        Reason(f"{whose} makes a remote call while it answers one, in {at(asks[0].user_frame)}", "python-stack", ref),
        Reason(f"{whose} answers another one, and waits for a lock in {at(wants[0].user_frame)}", "python-stack", ref),
    )


def _who_wait(standing: Standing) -> tuple[Standing, ...]:
    """The deciding thread of a process, or those for which it waits."""
    return asking_instead(standing) or (standing,)


def _fills(standing: Standing) -> bool:
    """Whether it waits for room in a pipe, also below a queue of multiprocessing."""
    return writes(standing.member) or (standing.kind is WaitKind.QUEUE and _writes(standing))


def _writes(standing: Standing) -> bool:
    """Whether a thread stands in a write."""
    call = call_of(standing)
    return call is not None and call.call in _WRITE


def _silent(case: Case, cycle: tuple[ProcessRef, ...]) -> bool:
    """Whether data is under way between the members: then no order is to blame."""
    return any(pair.sender in cycle and pair.receiver in cycle for pair in under_way(case))


def _steps(case: Case, cycle: tuple[ProcessRef, ...]) -> Iterator[Reason]:
    inside = set(cycle)
    shares = [share for share in case.graph.shares if share.wait.waiter in inside]
    of_crowds = {(share.wait.waiter, share.wait.why) for share in shares}
    awaited: dict[Wait, list[ProcessRef]] = {}
    for wait in case.graph.waits:
        if wait.waiter in inside and wait.target in inside and (wait.waiter, wait.why) not in of_crowds:
            awaited.setdefault(replace(wait, target=None), []).append(wait.target)
    for wait, targets in awaited.items():
        yield _step(case, wait, _all(case, targets))
    for share in shares:  # whoever waits for many is told once
        others = [ref for ref in share.crowd.refs if ref in inside and ref != share.wait.waiter]
        if others:
            whom = f"{len(others)} others of the circle, such as {name(case, others[0])}"
            yield _step(case, share.wait, whom)


def _all(case: Case, targets: list[ProcessRef]) -> str:
    """One by name, many by their ranks where they have some."""
    ranks = RankSet(
        one.process.rank
        for ref in targets
        if (one := case.by_ref.get(ref)) and one.role is Role.RANK and one.process.rank is not None
    )
    told = len(targets) > 1 and len(ranks) == len(targets)
    return ranks_phrase(ranks) if told else ", ".join(name(case, ref) for ref in targets[:_NAMED])


def _step(case: Case, wait: Wait, whom: str) -> Reason:
    """Who waits for whom, and where: in the job's code, or else in which call of the system."""
    member = case.by_ref[wait.waiter]
    asks = next((one for one in kept_from_answering(member) if one.kind in ASKS), None)
    known, blocked = case.standings.get(wait.waiter), member.latest(Blocked)
    standing = asks or (_who_wait(known)[0] if known is not None else None)
    call = f" (in {blocked.calls[0].call})" if blocked and blocked.calls else ""
    place = f", in {at(standing.user_frame)}" if standing is not None and standing.user_frame is not None else call
    place = "" if place[place.find("(") + 1 : -1] in wait.why else place  # which tells it as well
    return Reason(f"{name(case, wait.waiter)} waits for {whom}: {wait.why}{place}", "wait-for graph", wait.waiter)


RULE = make_rule(__name__, __doc__, "p2p-order-deadlock", 45, check)
