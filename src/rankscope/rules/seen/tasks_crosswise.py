"""Tasks of one event loop wait for each other, or one waits for a lock that it has entered itself.

## What it means
Two coroutines took two `asyncio` locks in opposite order, entered the same lock twice, or a task holds a lock and awaits another
task that wants it. Or each has taken one connection out of a pool (an `asyncio.Queue`) and waits for a second one, so that none
is given back. The loop itself is healthy and sleeps: it has nobody to wake. The stacks of threads show only its `select`.

## How it is recognised
The tasks are read from memory while their loop (asyncio's own, or uvloop) waits: where each is suspended, which lock it wants
to acquire, whose `async with` it is inside of, which tasks it awaits or has gathered. A lock that was acquired without `async
with` does not say whose it is: it is taken for that of the only task that can reach it, acquires something and does not wait
for it. Their waits close a circle, and no task in it has set itself a time limit (`asyncio.timeout`, `wait_for`). Of a queue:
all tasks in the job's code wait to take from it, their own code also puts into it, and another process has waited for an answer
of this one for longer than `--stuck-after`. Read on CPython 3.8 to 3.13.

## What to do
Read the tasks (`rankscope stacks pid:PID --raw` shows them behind the threads) and take the locks in one order everywhere.
`asyncio.Lock` is not re-entrant: split what is called under it into a part that needs the lock and one that has it. Hand on the
connection that a task has, in place of taking another one.

## How to prevent it
One global order of locks; nothing awaited under a lock that may need it; `asyncio.timeout` around every wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.kept_waiting import kept_waiting_s
from ...analysis.loop_tasks import TaskView, circle, loops, same_circle, takes
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.ranks import RankSet
from ...model.words import span
from .. import make_rule
from .._say import at, roots, waited_for, who


def check(case: Case) -> Iterator[Finding]:
    waiting = {root.ref: root for root, _ in roots(case)}
    for member in case:
        caught = next(filter(None, map(circle, loops(member))), ()) if not member.gone else ()
        root, standing = waiting.get(member.ref), case.standings.get(member.ref)
        ages = [age for age in (_still(standing, caught), root.age_s if root else None) if age is not None]
        if any(takes(one.task) for one in caught):
            # A queue may be filled from elsewhere, by a call that comes in: not while a call is waiting.
            asked_s = kept_waiting_s(case, member)
            if not case.stuck(asked_s):
                continue
            ages.append(asked_s or 0.0)
        if not caught or not (any(map(case.stuck, ages)) or same_circle(member)):
            continue
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE,
            certainty=Certainty.LIKELY if any(map(case.stuck, ages)) else Certainty.POSSIBLE,
            title=f"{who(member.process)}: {_title(caught)}",
            ranks=RankSet([member.rank] if member.rank is not None else []), processes=(member.process,),
            because=(*(_stand(member, one, caught) for one in caught[:6]), *_age(ages), *(waited_for(root) if root else ())),
            next=(Step(f"rankscope stacks pid:{member.ref.pid} --raw", member.ref),), circle=True,
        )  # fmt: skip


def _still(standing: Standing | None, caught: tuple[TaskView, ...]) -> float | None:
    """How long the thread of the loop has not run: its tasks have waited at least as long."""
    thread = standing.kernel if standing else None
    of_it = thread is not None and bool(caught) and caught[0].task.tid == thread.tid
    return standing.still_s if standing and of_it else None


def _title(caught: tuple[TaskView, ...]) -> str:
    if len(caught) == 1 and takes(caught[0].task):
        return f"{_name(caught[0])} waits, in {at(caught[0].place)}, to take from a queue that nobody else fills"
    if len(caught) == 1:
        return f"{_name(caught[0])} waits for a lock that it holds itself, in {at(caught[0].place)}"
    places = " and ".join(f"{_name(one)} in {at(one.place)}" for one in caught[:2])
    more = f" and {len(caught) - 2} more" if len(caught) > 2 else ""
    return f"tasks of its event loop wait for each other: {places}{more}"


def _name(view: TaskView) -> str:
    return f"task {view.task.name}"


def _stand(member: Member, view: TaskView, caught: tuple[TaskView, ...]) -> Reason:
    following = caught[(caught.index(view) + 1) % len(caught)]
    kind = view.task.awaits
    whom = f"a {kind} that {_name(following)} holds" if view.wanted else f"{_name(following)} to end"
    if takes(view.task):
        whom = "a queue into which only such tasks put something back"
    return Reason(f"{_name(view)} waits in {at(view.place)} for {whom}", "python-stack", member.ref)


def _age(ages: list[float]) -> Iterator[Reason]:
    if ages:
        yield Reason(f"the thread of the loop, or who waits for it, has stood still for {span(max(ages))}", "kernel")


RULE = make_rule(__name__, __doc__, "lock-order-deadlock", 18, check)
