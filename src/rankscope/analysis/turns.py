"""Threads that hand something on to each other in native code, where no frame and no local changes: a lock changes hands, a
team does its share.

A private futex without a time limit ends only when a thread of the same process wakes it (futex(2)). So where one that waited
there has run since, somebody of the process did his part. Threads that poll wait with limits, and so does who asks for the GIL.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model.evidence.blocked import Blocked, BlockedCall
from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import KernelThread, Threads
from .case import Member
from .devices import has_device
from .frame_tables import WaitKind
from .frames import deepest_user
from .identity import own
from .load import TICKS, used
from .native_work import called_package
from .standing import Standing

_NATIVE = (WaitKind.LOCK, WaitKind.SLEEP)


def takes_turns(standing: Standing) -> bool:
    """Whether the deciding thread, in a native call of the job's own code, waits in turn with other threads for a lock.

    Either it was at the lock itself at one of the looks, or it was the only one that was not, and those that were have run.
    """
    tid = standing.kernel.tid if standing.kernel else 0
    if standing.kind not in _NATIVE or not standing.ran or not _in_native_call(standing):
        return False
    others = _others_in_native_calls(standing)
    return any(
        tid in waiting or (bool(others) and others <= waiting and _any_ran(standing, others))
        for waiting in _at_locks(standing)
    )


def team_at_work(standing: Standing) -> bool:
    """Whether it sleeps in a native call of the job's own code while a thread of that code computes: one without a frame of
    Python, and without a name of its own, as libraries give to threads that only tick or spin. Those for devices have none
    either; where one is open, only a call of a package counts that knows no device."""
    package = called_package(standing)
    inside = bool(package) or (_in_native_call(standing) and has_device(standing.member) is False)
    if standing.kind is not WaitKind.LOCK or not inside:
        return False
    return any(of_call(one, standing.kernel, package) for one in natives_at_work(standing.member))


def of_call(native: KernelThread, caller: KernelThread | None, package: str) -> bool:
    """Whether a thread of native code may belong to the call in which this one sleeps: it has no name of its own, or that of
    the called package."""
    return (caller is not None and native.comm == caller.comm) or (bool(package) and native.comm.startswith(package))


def natives_at_work(member: Member) -> Iterator[KernelThread]:
    """Threads without a frame of Python that use the CPU between the looks. One look alone may meet any thread running, and
    counts only where nothing tells what the thread used."""
    python, last = member.latest(PythonStacks), member.latest(Threads)
    known = {thread.tid for thread in python.threads} if python else set()
    shares = {one.task.tid: one.share for one in used(member)}
    for task in last.threads if last else ():
        share = shares.get(task.tid)
        if task.tid not in known and (task.state == "R" if share is None else share > TICKS):
            yield task


def _in_native_call(standing: Standing) -> bool:
    return bool(standing.own_stack) and standing.wait.user == len(standing.own_stack) - 1


def _others_in_native_calls(standing: Standing) -> set[int]:
    """The other Python threads, all of which stand in a native call of the job's own code; none where one stands elsewhere."""
    stacks = standing.member.latest(PythonStacks)
    threads = [one for one in stacks.threads if one is not standing.thread] if stacks else []
    inside = all(deepest_user(own(one.stack)) == len(own(one.stack)) - 1 for one in threads if one.stack)
    return {one.tid for one in threads if one.tid} if inside else set()


def _at_locks(standing: Standing) -> Iterator[set[int]]:
    """Of each look, the threads that waited without a time limit for what only their own process can bring."""
    for look in standing.member.over_time(Blocked):
        yield {call.tid for call in look.calls if _private(call)}


def _private(call: BlockedCall) -> bool:
    return call.call == "futex" and not call.timed and not call.shared


def _any_ran(standing: Standing, tids: set[int]) -> bool:
    first, last = standing.member.first(Threads), standing.member.latest(Threads)
    before = {task.tid: task.voluntary for task in first.threads} if first else {}
    return any(task.voluntary > before.get(task.tid, task.voluntary) for task in (last.threads if last else ())
               if task.tid in tids)  # fmt: skip
