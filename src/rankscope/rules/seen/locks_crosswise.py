"""Threads of one process wait for locks of each other, or one waits for a lock it holds itself.

## What it means
Two threads took two locks in opposite order, or a thread took a lock that is not re-entrant a second time: in a finalizer
(`__del__`, a weakref callback), in a signal handler, or through a call that came back; or it holds a lock while it waits for a
thread that needs it. Nothing inside the process can undo it.

## How it is recognised
For a native mutex its owner is read from memory, and the owners form a cycle. For Python's locks, which have no owner: two
threads wait for two different locks and no thread is left that could hold them; or one thread waits and every other thread is
idle or absent; or the function that waits stands in the same stack a second time (also one that a timer's handler enters again
and again, where others have waited for long), or waits below a frame that was given the number of a signal which the program
handles. A thread that waits without a limit for a result, a queue or the end of another thread holds the lock which that one
wants, where all others sleep. Of semaphores: two threads or more wait for one, and all threads of the process sleep without a
time limit, so that nobody is left to release it. A call into a library that is no lock of Python may wait for the library's own
threads: where one of those uses the CPU it is at work, and otherwise a deadlock is only possible. Beside an open device threads
spin for it whatever the call does, so that only those of a package that knows no device count as its own.

## What to do
Read both stacks (`rankscope stacks pid:PID --raw`) and take the locks in one order everywhere. A lock that finalizers or
signal handlers need must be an `RLock`, or they must only leave a note for somebody else.

## How to prevent it
One global order of locks; no locks in `__del__` and signal handlers; `with` blocks that call nothing foreign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.devices import has_device
from ...analysis.frame_tables import WaitKind
from ...analysis.native_work import package_of
from ...analysis.progress import advances
from ...analysis.threads import (
    ThreadView,
    asleep_alone,
    forked,
    nobody_acts,
    parent_of,
    possible_holders,
    views,
    waits_for_thread,
)
from ...analysis.turns import natives_at_work, of_call
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.threads import KernelThread, Threads
from ...model.patterns import regex
from ...model.process import Role
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._say import at, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    for member in case:
        if member.gone or member.role is Role.HELPER:
            continue
        all_views, root = views(member), case.graph.root(member.ref)
        kept = root is not None and bool(root.waiters) and case.stuck(root.age_s)
        stuck = [
            view
            for view in all_views
            if view.wants_lock
            and ((kept and _reentered(view)) or (case.stuck(_still(view)) and not _gets_on(case, member, view)))
        ]
        how = _deadlock(member, all_views, stuck, forked(member, parent_of(case, member))) if stuck else None
        if how is None:
            stuck = [view for view in all_views if view.wants_semaphore and case.stuck(_still(view))]
            how = _semaphores(member, stuck)
        if how is None:
            continue
        text, certainty = how
        if certainty is Certainty.POSSIBLE and not (root and root.waiters) and not nobody_acts(member):
            continue  # a server without work, for which nobody waits
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty, title=f"{who(member.process)}: {text}",
            ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
            because=(*(_stand(member, view) for view in stuck[:4]), *_waits_below(member, all_views, stuck),
                     *(waited_for(root) if root else ())),
            against=tuple(_doubts(member, stuck)) if certainty is Certainty.POSSIBLE else (),
            next=(Step(f"rankscope stacks pid:{member.ref.pid} --raw --source", member.ref),),
            circle=certainty is not Certainty.POSSIBLE,
        )  # fmt: skip


def _gets_on(case: Case, member: Member, view: ThreadView) -> bool:
    """Whether this is the thread by which the process is judged, and its wait is part of work that moves."""
    standing = case.standings[member.ref]
    return standing.thread is view.python and advances(standing)


def _still(view: ThreadView) -> float | None:
    return view.task.still_s if view.task else None


def _deadlock(
    member: Member, everybody: tuple[ThreadView, ...], stuck: list[ThreadView], copied: bool
) -> tuple[str, Certainty] | None:
    """What kind of deadlock this is and how sure; None when somebody may still let go."""
    cycle = _owner_cycle(stuck)
    if cycle:
        if len(cycle) == 1:
            return f"{cycle[0].name} waits for a mutex that it holds itself", Certainty.CERTAIN
        return (
            f"threads {', '.join(view.name for view in cycle)} hold mutexes that the others wait for",
            Certainty.CERTAIN,
        )
    others = tuple(view for view in everybody if view not in stuck)
    sure = _sure(member, stuck, others)
    if sure is None:
        return None
    for view in stuck:
        if _reentered(view):
            return f"{view.name} takes a lock again that it holds, in {at(view.wait.user_frame)}", sure
    holders = possible_holders(others)
    handling = next((view for view in stuck if _in_handler(member, view)), None)
    if handling is not None and all(view.wait.kind in _RESTS for view in holders):
        place = at(handling.wait.user_frame)
        return (
            f"{handling.name} waits in {place}, in a signal's handler, for a lock that what it interrupted may have",
            sure,
        )
    words = {view.lock_word or id(view) for view in stuck}
    if copied and len(words) < 2:
        return None  # the lock may be a copy whose holder stayed in the parent
    if holders and all(map(waits_for_thread, holders)) and all(map(asleep_alone, others)):
        return (
            f"{stuck[0].name} waits for a lock that {holders[0].name} holds, which waits for another thread",
            sure,
        )
    if holders:
        return None  # somebody may let go
    if len(stuck) >= 2 and len(words) >= 2:
        return f"threads {' and '.join(view.name for view in stuck[:3])} wait for locks of each other", sure
    if len(stuck) == 1:
        waits = " or ".join(view.name for view in others if waits_for_thread(view))
        if waits:  # for a thread that needs the lock, or for one that took it twice
            return (
                f"{stuck[0].name} waits for a lock that only {waits}, or it itself, can hold, and neither goes on",
                sure,
            )
        return f"{stuck[0].name} waits for a lock that no other thread can hold: it holds it itself", sure
    return None


def _sure(member: Member, stuck: list[ThreadView], others: tuple[ThreadView, ...]) -> Certainty | None:
    """How sure a deadlock is; None where a thread without a frame of Python may let go.

    It cannot hold a lock of Python. What else a native call waits for may be a lock of its own, or the end of its own work.
    """
    if all(view.of_python for view in stuck):
        return Certainty.LIKELY
    known = {view.python.tid for view in (*stuck, *others)}
    busy = tuple(natives_at_work(member))
    if _at_work(member, stuck, busy) or any(_owner(view) and _owner(view) not in known for view in stuck):
        return None
    unclear = _unclear(stuck)
    alone = len(stuck) == 1 and not any(map(waits_for_thread, others))
    doubt = any(view.of_python is False for view in unclear) or (bool(unclear) and (alone or bool(busy)))
    return Certainty.POSSIBLE if doubt else Certainty.LIKELY


def _at_work(member: Member, stuck: list[ThreadView], busy: tuple[KernelThread, ...]) -> bool:
    """Whether threads that use the CPU are at the work of these calls: those for devices spin whatever the call does."""
    if has_device(member) is False:
        return bool(busy)
    called = [(view.task, package) for view in stuck if (package := package_of(view.stack))]
    return any(of_call(one, task, package) for one in busy for task, package in called)


def _unclear(stuck: list[ThreadView]) -> list[ThreadView]:
    """Those in a native call of which nothing shows that it waits for a lock."""
    return [view for view in stuck if not view.of_python and not _owner(view)]


def _owner(view: ThreadView) -> int:
    return view.call.owner if view.call else 0


def _doubts(member: Member, stuck: list[ThreadView]) -> Iterator[str]:
    for view in _unclear(stuck):
        library = (view.call.library if view.call else "") or "a library"
        yield f"{view.name} may wait for threads of {library} rather than for a lock, as a server without work does"
    for name in dict.fromkeys(task.comm for task in natives_at_work(member)):
        yield f"a thread {name} of native code uses the CPU: it may be at the work that is waited for, or only spin"


def _semaphores(member: Member, stuck: list[ThreadView]) -> tuple[str, Certainty] | None:
    """Semaphores have no owner, but of a process whose threads all wait without limit none is left to release one."""
    if len(stuck) < 2 or not nobody_acts(member):
        return None
    names = ", ".join(view.name for view in stuck[:4])
    return f"threads {names} wait for semaphores, and no thread is left that could release one", Certainty.LIKELY


def _owner_cycle(stuck: list[ThreadView]) -> list[ThreadView]:
    """Threads whose mutexes are owned in a circle (or by the waiter itself)."""
    by_tid = {view.python.tid: view for view in stuck}
    for view in stuck:
        path, seen = view, [view]
        while path.call and path.call.owner in by_tid:
            path = by_tid[path.call.owner]
            if path is view:
                return seen
            if path in seen:
                break
            seen.append(path)
    return []


# In these a thread rarely has a lock that others want.
_RESTS = (WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.IDLE)
_NUMBER = regex(r"sig|num", re.I)


def _in_handler(member: Member, view: ThreadView) -> bool:
    """Whether a frame of the main thread, which alone runs handlers of Python, was given the number of a signal that the process
    handles."""
    kernel = member.latest(Threads)
    caught = set(kernel.caught or ()) if kernel is not None and view.python.tid == member.ref.pid else set()
    return any(one.depth > 0 and one.number in caught and _NUMBER.search(one.name) for one in view.python.locals)


def _reentered(view: ThreadView) -> bool:
    """Whether the code that waits is further out in the same stack: a finalizer or handler came back into it."""
    own = view.stack
    inner = (
        view.wait.user
        if view.wait.kind is WaitKind.LOCK
        else view.wait.index
        if view.wait.kind is WaitKind.QUEUE
        else -1
    )
    return inner >= 0 and any(
        (frame.file, frame.function) == (own[inner].file, own[inner].function) for frame in own[:inner]
    )


def _waits_below(member: Member, everybody: tuple[ThreadView, ...], stuck: list[ThreadView]) -> Iterator[Reason]:
    """Threads that want no lock but something of another thread, which they may keep from it by what they hold."""
    for view in everybody:
        if view not in stuck and waits_for_thread(view) and view.wait.user >= 0:
            yield Reason(
                f"{view.name} waits for another thread in {at(view.wait.user_frame)}", "python-stack", member.ref
            )


def _stand(member: Member, view: ThreadView) -> Reason:
    held = f", held by thread {view.call.owner}" if view.call and view.call.owner else ""
    place = view.wait.user_frame or (view.stack[-1] if view.stack else None)
    return Reason(f"{view.name} waits for a lock in {at(place)}{held}, for {span(_still(view))}",
                  "python-stack", member.ref)  # fmt: skip


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 18, check)
