"""A process that nothing from outside its program brings on: whatever its threads wait for, only members could bring."""

from __future__ import annotations

from ..model.evidence.blocked import Blocked, BlockedCall
from ..model.evidence.outsiders import Outsiders
from ..model.evidence.stacks import PythonStacks
from ..model.evidence.threads import Threads
from .case import Case, Member
from .ends import seen_beyond, targets, writable
from .helping import manages
from .identity import name_of, own
from .standing import Standing

_READS = ("read", "recv", "poll", "ppoll")
_ENDS = ("wait4", "waitid")
_FOR_CALLERS = ("accept", "accept4", "read", "recvfrom")
# Who beside the program holds other ends is looked for where a thread waits on so few (probe/collectors/outsiders.py).
_MOST_ENDS = 2
# Threads that mind the workers of a pool, over pipes that nobody else was given.
_MIND_WORKERS = {("concurrent/futures/process.py", "run"), ("multiprocessing/pool.py", "_handle_workers")}


def waits_for_members(case: Case, member: Member) -> bool:
    """Whether every thread of a process, native ones included, has slept through all looks, without a time limit: in memory, for
    the end of a child, or in reading what only members of the program could write."""
    looks, blocked = member.over_time(Threads), member.latest(Blocked)
    calls = {call.tid: call for call in blocked.calls} if blocked else {}
    seen = [
        {task.tid: (task.voluntary, task.involuntary) for task in look.threads if task.state == "S"} for look in looks
    ]
    still = len(looks) > 1 and all(one == seen[0] for one in seen) and len(seen[-1]) == len(looks[-1].threads)
    minding = _minding(member)
    return (
        still and bool(seen[-1]) and all(_of_members(case, member, calls.get(tid), tid in minding) for tid in seen[-1])
    )


def _minding(member: Member) -> set[int | None]:
    """The threads that mind the workers of its pools."""
    stacks = member.latest(PythonStacks)
    threads = stacks.threads if stacks else ()
    return {one.tid for one in threads if not _MIND_WORKERS.isdisjoint(map(name_of, own(one.stack)))}


def only_answers(standing: Standing) -> bool:
    """Whether it is a manager of multiprocessing that nobody has asked: besides its main thread, which naps, all of it waits for
    callers or for their next word."""
    kernel, blocked = standing.member.latest(Threads), standing.member.latest(Blocked)
    calls = {call.tid: call for call in blocked.calls} if blocked else {}
    tids = [task.tid for task in kernel.threads if task.tid != standing.member.ref.pid] if kernel else []
    return manages(standing) and all(tid in calls and calls[tid].call in _FOR_CALLERS for tid in tids)


def _of_members(case: Case, member: Member, call: BlockedCall | None, minds: bool) -> bool:
    if call is None or call.timed:
        return False
    if call.call == "futex" or call.call in _ENDS:
        return True
    few = len(call.fds) > 0 and (minds or len(call.fds) <= _MOST_ENDS)
    return few and call.call.startswith(_READS) and _ends_inside(case, member, call.fds)


def _ends_inside(case: Case, member: Member, fds: tuple[int, ...]) -> bool:
    """Whether these are pipes and connections of which members have the other ends, and nobody else."""
    found, beside = dict(targets(member, fds)), member.latest(Outsiders)
    ours = {one.ref.pid for one in case.by_host[member.ref.host]}
    if len(found) < len(set(fds)) or any(
        one.fd in fds and one.pid not in ours for one in (beside.found if beside else ())
    ):
        return False
    written = {end for one in case.by_host[member.ref.host] if not one.gone for end in writable(one)}
    return all(seen_beyond(one) in written for one in found.values())
