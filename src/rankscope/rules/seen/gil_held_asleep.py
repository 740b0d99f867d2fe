"""A thread holds the GIL while it sleeps in native code, so no other Python thread of its process can run.

## What it means
A C extension blocks without releasing the interpreter lock: a driver call, a mutex, a sleep, a communication call. Watchdog
and heartbeat threads that need Python stand still as well; if the blocked call waits for one of them, it never ends.

## How it is recognised
The interpreter's memory names the thread that holds the GIL; the kernel shows it asleep, and it did not run between two looks.
It is certain where another thread was seen to wait for the GIL, and no deadlock where nobody else is there to want it. One that
waits for threads of native code which compute is at work. One that naps in native code, again and again at one place, is told
where another thread waits for the GIL and others have waited for its process for long: code of Python that naps gives it up.

## What to do
Look at the native frames of that thread (`rankscope stacks pid:PID --native`, which pauses it). The binding has to release the
GIL around the blocking call (`Py_BEGIN_ALLOW_THREADS`, `py::call_guard<py::gil_scoped_release>`); update the library.

## How to prevent it
No blocking native calls under the GIL; `ctypes.CDLL` instead of `ctypes.PyDLL`; no Python callbacks from native threads.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.callers import call_of
from ...analysis.case import Case, Member
from ...analysis.kernel_says import awaits_memory
from ...analysis.progress import advances
from ...analysis.standing import Standing, stand
from ...analysis.threads import ThreadView, forked, parent_of, views
from ...analysis.turns import team_at_work
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.stacks import PythonStacks, Trust
from ...model.evidence.threads import Threads
from ...model.ranks import RankSet
from ...model.words import counted, span, verb
from .. import make_rule
from .._say import at, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    for member in case:
        looks = member.over_time(PythonStacks)
        holders = _holders(looks)
        for view in views(member) if holders and not _lone_copy(case, member) else ():
            still = view.task.still_s if view.task else None
            if view.python.tid not in holders or not _sleeps(view):
                continue
            asking = len(set(looks[-1].gil_waiters) - {view.python.tid})
            others = sum(1 for other in looks[-1].threads if other.tid != view.python.tid)
            standing, root = stand(member, view.python), case.graph.root(member.ref)
            naps = not case.stuck(still)
            if naps and not (asking and _naps(standing) and root is not None and case.stuck(root.age_s)):
                continue
            if not (asking or others) or _at_work(standing):
                continue
            yield Finding(
                rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=_sure(view, bool(asking) and not naps),
                title=f"{who(member.process)}: {view.name} holds the GIL and {'naps' if naps else 'sleeps'} in native code, "
                      f"called in {at(view.wait.user_frame)}",
                ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
                because=(Reason(f"the interpreter names {view.name} as the holder; the kernel shows it asleep "
                                f"({view.task.wchan if view.task else '?'}) {'at each look' if naps else f'for {span(still)}'}",
                                "memory", member.ref),
                         Reason(_kept_out(asking, others), "memory", member.ref),
                         *(waited_for(root) if root else ())),
                next=(Step(f"rankscope stacks pid:{member.ref.pid} --native", member.ref),),
            )  # fmt: skip


def _lone_copy(case: Case, member: Member) -> bool:
    """Whether it is the only thread of a forked child: nobody wants its GIL, and what it waits for was left in the parent."""
    kernel = member.latest(Threads)
    return kernel is not None and len(kernel.threads) == 1 and forked(member, parent_of(case, member))


def _holders(looks: tuple[PythonStacks, ...]) -> set[int | None]:
    """The threads that held the GIL whenever somebody looked."""
    held: dict[int | None, list[bool]] = {}
    for look in looks:
        for thread in look.threads:
            held.setdefault(thread.tid, []).append(thread.holds_gil)
    return {tid for tid, each in held.items() if len(each) == len(looks) and all(each)}


def _sleeps(view: ThreadView) -> bool:
    """Whether it waits by its own will: in state D it faulted in the middle of something, for storage or memory."""
    return view.task is None or (view.task.state == "S" and not awaits_memory(view.task))


def _naps(standing: Standing) -> bool:
    """Whether it was met at one place, in a call that the kernel ends by the clock, with the GIL."""
    call = call_of(standing)
    return call is not None and call.timed and standing.moved is False and len(standing.looks) > 1


def _at_work(holder: Standing) -> bool:
    """Whether the call in which it sleeps gets on: it waits for native threads of that call, which compute."""
    return team_at_work(holder) or advances(holder)


def _kept_out(asking: int, others: int) -> str:
    if asking:
        return f"{counted(asking, 'thread')} of this process {verb('wait', asking)} for the GIL"
    return f"{counted(others, 'other Python thread')} of this process cannot run"


def _sure(view: ThreadView, asking: bool) -> Certainty:
    return Certainty.CERTAIN if asking and view.python.trust is Trust.EXACT else Certainty.LIKELY


RULE = make_rule(__name__, __doc__, "gil-deadlock", 14, check)
