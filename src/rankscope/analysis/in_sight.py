"""What is seen of the work of a process although no stack of it may be read: whether it gets on, or only wakes."""

from __future__ import annotations

from itertools import chain

from ..model.diagnosis import State
from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import KernelThread, Threads
from ..model.process import Role
from .awaited import hidden, is_python
from .case import Case, Member, Root
from .devices import has_device
from .frame_tables import WaitKind
from .load import WORKS, transferred, used
from .pools import awaits_result
from .progress import works
from .scene import is_absent
from .standing import Standing

_SOME_BYTES = 1 << 10
_WOKEN = (WaitKind.SOCKET, WaitKind.LOCK, WaitKind.PIPE)
_IDLE = (WaitKind.SOCKET, WaitKind.PIPE, WaitKind.SLEEP, WaitKind.INPUT)
# The threads of an idle pool wake ten times a second (multiprocessing/pool.py).
_OFTEN_PER_S = 20.0
# CPython asks for the GIL with a time limit of 5 ms (sys.getswitchinterval), so one that never gets it wakes 200 times a second.
_GIL_PER_S = (100.0, 205.0)
_ENOUGH_S = 0.3  # over less than this a rate is chance


def moves(case: Case) -> bool:
    """Whether somebody who matters is at work, and no rank has stood still for so long that it may be stuck."""
    if case.state not in (State.MOVING, State.SLOW):
        return False
    ranks = [case.standings[member.ref] for member in case.with_role(Role.RANK) if not member.gone]
    others = [case.standings[member.ref] for member in case.with_role(Role.OTHER) if not member.gone]
    if any(has_device(one.member) for one in ranks):
        return False
    at_work = _exchange(ranks) or any(works(one) for one in (*ranks, *others))
    return at_work and (
        case.state is State.SLOW or not any(one.ran is False and case.stuck(one.still_s) for one in ranks)
    )


def _exchange(ranks: list[Standing]) -> bool:
    """Whether all ranks ran, and moved data, or were woken by somebody else than the clock."""
    if len(ranks) < 2 or not all(one.ran for one in ranks):
        return False
    return sum(transferred(one.member) for one in ranks) > _SOME_BYTES or any(one.kind in _WOKEN for one in ranks)


def serves_idly(case: Case, root: Root) -> bool:
    """Whether it listens, reads or naps, and nobody lacks it but a parent that minds its children: a server without work.

    So does a program that alone reads from another one beside the job: it may wait for orders.
    """
    standing = case.standings.get(root.ref)
    if standing is None:
        only = case.standings.get(root.waiters[0]) if len(root.waiters) == 1 else None
        return only is not None and only.thread is None and hidden(only.member) and not is_absent(root.ref)
    return standing.kind in _IDLE and hidden(standing.member) and standing.thread is None and minded(case, root)


def minded(case: Case, root: Root) -> bool:
    """Whether no rank waits for it, and nobody but parents, for its end or its result, and commands, such as a filter of its
    output."""
    waiters = [case.standings[ref] for ref in root.waiters if ref in case.standings]
    return not root.ranks and all(map(_minds, waiters))


def _minds(waiter: Standing) -> bool:
    return waiter.kind is WaitKind.CHILD or foreign(waiter.member) or awaits_result(waiter)


def foreign(member: Member) -> bool:
    """Whether it is a living command that the job started: no program of Python, and no rank."""
    bare = member.latest(PythonStacks) is None and not is_python(member.process)
    return member.role is Role.OTHER and bare and not member.gone


def commands_alone(case: Case, root: Root) -> bool:
    """Whether only commands wait, for a command: a shell that watches the machine beside the job, and naps in between.

    Who needs its output, or its end, would be among those who wait.
    """
    found = map(case.by_ref.get, chain((root.ref,), root.waiters))
    return bool(root.waiters) and all(one is not None and foreign(one) for one in found)


def unclear(standing: Standing) -> bool:
    """Whether it runs now and then, and only its stack, which is not ours to see, would tell whether it gets on."""
    if standing.thread is not None or not hidden(standing.member) or works(standing):
        return False
    return (bool(standing.ran) or stirs(standing.member)) and seeks_gil(standing.member) is None


def stirs(member: Member) -> bool:
    """Whether the interpreter's other threads wake all the time: they may do the work for which the main one waits.

    Libraries give names of their own to their threads, and some of those tick for ever.
    """
    name = _main_name(member)
    woken = (one for one in used(member, _ENOUGH_S) if one.task.tid != member.ref.pid and one.task.comm == name)
    return sum(one.wakes_per_s for one in woken) > _OFTEN_PER_S


def seeks_gil(member: Member) -> KernelThread | None:
    """A thread of the interpreter that wakes as often as one that asks for the GIL in vain, and uses next to no CPU.

    Where another one is ready to run, that may have the GIL and get no CPU, as on a crowded machine.
    """
    name = _main_name(member)
    for one in used(member, _ENOUGH_S):
        asks = "futex" in one.task.wchan and one.task.comm == name and one.share < WORKS
        if asks and _GIL_PER_S[0] <= one.wakes_per_s <= _GIL_PER_S[1]:
            return None if _ready_beside(member, one.task) else one.task
    return None


def _ready_beside(member: Member, thread: KernelThread) -> bool:
    """Whether another thread of the interpreter was running, or ready to, at any look."""
    tasks = (task for look in member.over_time(Threads) for task in look.threads)
    return any(task.state == "R" and task.comm == thread.comm and task.tid != thread.tid for task in tasks)


def _main_name(member: Member) -> str:
    last = member.latest(Threads)
    return next((task.comm for task in (last.threads if last else ()) if task.tid == member.ref.pid), "")
