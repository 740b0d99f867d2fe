"""Who beside the job holds the other end of what a process waits on: shared by the rules that name such a process."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..analysis.case import Case, Member
from ..analysis.standing import Standing
from ..analysis.threads import views, waits_for_thread
from ..model.evidence.blocked import Blocked
from ..model.evidence.outsiders import Outsider, Outsiders
from ..model.process import Process, ProcessRef, Role


def outsiders(case: Case, standing: Standing) -> Iterator[Outsider]:
    """Processes beside the job at the other end of the descriptor, or the two pipes, on which the deciding thread waits."""
    if standing.kernel is not None:
        yield from _at_ends(case, standing.member, {standing.kernel.tid})


def behind_threads(case: Case, standing: Standing) -> Iterator[Outsider]:
    """Processes beside the job on which another, long sleeping thread waits, for which the deciding thread waits in its turn."""
    every = views(standing.member)
    if any(view.python is standing.thread and waits_for_thread(view) for view in every):
        others = (view.task for view in every if view.python is not standing.thread)
        tids = {task.tid for task in others if task is not None and case.stuck(task.still_s)}
        yield from _at_ends(case, standing.member, tids)


def _at_ends(case: Case, member: Member, tids: Collection[int]) -> Iterator[Outsider]:
    found, blocked = member.latest(Outsiders), member.latest(Blocked)
    if found is None or blocked is None:
        return
    fds = {fd for call in blocked.calls if call.tid in tids and len(call.fds) <= 2 for fd in call.fds}
    ours = {ref.pid for ref in case.by_ref if ref.host == member.ref.host}
    ends = {one.inode for one in found.found if one.pid in ours}  # an end that a member holds leads to that member
    beside = (one for one in found.found if one.fd in fds and one.inode not in ends)
    yield from {one.pid: one for one in beside}.values()


def process_of(standing: Standing, outsider: Outsider) -> Process:
    """The outsider as findings name processes."""
    return Process(ProcessRef(standing.member.ref.host, outsider.pid), Role.OTHER, comm=outsider.comm)


def said(outsider: Outsider, *askers: Standing) -> str:
    """The outsider in words; one that a process which waits for it started after the job was listed is no stranger."""
    who = f"pid {outsider.pid} ({outsider.comm})"
    if outsider.parent and any(outsider.parent == one.member.ref.pid for one in askers):
        return f"{who}, a child that began after the job was listed"
    return f"{who}, which is no part of this job"
