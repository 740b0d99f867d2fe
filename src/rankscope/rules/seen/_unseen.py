"""What the kernel alone says of a process whose stack may not be read: the kind of its wait, and what that leaves open."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ...analysis.awaited import open_waits, slept, terminal
from ...analysis.case import Case, Member
from ...analysis.ends import holds, targets
from ...analysis.frame_tables import WaitKind
from ...analysis.in_sight import seeks_gil, stirs, unclear
from ...analysis.progress import works
from ...analysis.standing import Standing
from ...analysis.threads import parent_of
from ...analysis.waits.gloo_threads import in_call
from ...model.diagnosis import Certainty, Step
from ...model.evidence.may_wait import MayWait
from ...model.evidence.outsiders import Outsiders
from ...model.evidence.sockets import Sockets
from ...model.evidence.threads import KernelThread, Threads
from ...model.gap import Gap, Why
from ...model.process import Process, ProcessRef, Role
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import span, verb
from .._death import ended, status
from .._say import who

_STUCK = "rank-stuck-in-user-code"


@dataclass(frozen=True)
class Reading:
    """``doing`` goes on after the name of the process; ``because`` are the kernel's words for it."""

    cls: str
    certainty: Certainty
    doing: str
    because: tuple[str, ...] = ()
    others: tuple[Process, ...] = ()  # further processes that belong to it

    @classmethod
    def possible(cls, name: str, doing: str, *because: str) -> Reading:
        return cls(name, Certainty.POSSIBLE, doing, because)


def read(case: Case, standing: Standing) -> Reading | None:
    """What can be said of one that others wait for; None where it runs, or another rule knows its state."""
    if standing.state != "S" or standing.kernel is None or works(standing):
        return None
    starving = seeks_gil(standing.member)
    if starving:
        text = f"thread {starving.tid} wakes every 5 ms and does nothing, as one that asks for the GIL in vain"
        return Reading.possible("gil-deadlock", "does not let go of the GIL, as it seems", text)
    if not slept(standing.member, standing.kernel) or stirs(standing.member):
        return None
    if in_call(standing):
        text = "it came after the others, and none of their threads woke when it did"
        return Reading.possible(
            "collective-missed-by-rank", "stands in another call of its process group, as it seems", text
        )
    held = _in_storage(case, standing.member) if standing.kind is WaitKind.LOCK else None
    if held is not None:
        text = f"thread {held.tid} of it has stood in state D ({held.wchan}) for {span(held.still_s)}"
        return Reading(
            "filesystem-stall", Certainty.LIKELY, "waits for a thread of its own that a file system holds", (text,)
        )
    if standing.kind is WaitKind.LOCK:
        return _locked(case, standing.member)
    if standing.kind is WaitKind.PIPE and orphaned(case, standing.member):
        text = "of the pipes it may read from only it can write to one; nobody is left at the other end of the rest"
        return Reading.possible("child-dead", "reads from a pipe into which nobody else can write", text)
    if standing.kind is WaitKind.SLEEP:
        return Reading(_STUCK, Certainty.LIKELY, "sleeps on the clock")
    if standing.kind is WaitKind.INPUT or terminal(standing.member):
        return Reading(_STUCK, Certainty.POSSIBLE, f"waits for input at {terminal(standing.member) or 'a terminal'}")
    doing = {
        WaitKind.PIPE: "waits on a pipe",
        WaitKind.SOCKET: "waits on connections, for none of the ranks that wait for it",
        WaitKind.CHILD: "waits for a child process",
        WaitKind.FILE_LOCK: "waits for a file lock",
    }.get(standing.kind)
    return Reading.possible(_STUCK, doing) if doing else None


def _in_storage(case: Case, member: Member) -> KernelThread | None:
    """A thread that stood in one wait for storage at all looks, for long enough to count."""
    looks = [{task.tid: task for task in look.threads} for look in member.over_time(Threads)]
    for tid, task in looks[-1].items() if len(looks) > 1 else ():
        seen = [(one.state, one.voluntary, one.involuntary) for look in looks if (one := look.get(tid)) is not None]
        if task.state == "D" and len(seen) == len(looks) and len(set(seen)) == 1 and case.stuck(task.still_s):
            return task
    return None


def pauses(standing: Standing) -> bool:
    """Whether it sleeps on the clock again and again, or its threads wake all the time, without computing in between."""
    return unclear(standing) and (standing.kind is WaitKind.SLEEP or stirs(standing.member))


def last_left(case: Case, standing: Standing) -> Reading | None:
    """One rank that stands still when all others have ended, and is connected to nobody: its end is what hangs."""
    member = standing.member
    gone = set(case.ranks) - set(case.by_rank)
    found = member.latest(Sockets)
    if member.role is not Role.RANK or len(case.by_rank) > 1 or not gone or (found is not None and found.sockets):
        return None
    if standing.state != "S" or standing.kind is not WaitKind.LOCK or not slept(member, standing.kernel):
        return None
    text = f"{ranks_phrase(RankSet(gone))} {verb('have', len(gone))} ended, and it holds no connection to anybody"
    return Reading.possible("exit-hang", "is the last one left and does not end", text)


def _locked(case: Case, member: Member) -> Reading:
    """A thread in a futex: whose turn it is depends on who else could wake it."""
    kernel, found = member.latest(Threads), member.latest(MayWait)
    tasks = kernel.threads if kernel else ()
    asleep = all("futex" in task.wchan and slept(member, task) for task in tasks)
    if found is not None and found.semaphores:
        kin = fallen(case, member)
        if kin is not None:
            text = f"{who(kin.process)} {ended(kin)}, and they share semaphores"
            lost = Reading.possible("child-dead", "waits for a lock that may have died with another process", text)
            return dataclasses.replace(lost, others=(kin.process,))
    if not asleep or (found is not None and found.semaphores):
        return Reading.possible(_STUCK, "waits for a lock, a condition or another of its threads")
    parent = parent_of(case, member)
    copied = parent is not None and parent.process.command == member.process.command
    if len(tasks) == 1 and parent is not None and copied and _count(parent) > 1:
        text = f"it is a copy of its parent, which has {_count(parent)} threads, has a single one, and that sleeps in a lock"
        return Reading.possible("fork-with-threads", "waits for a lock that nobody in it can hold", text)
    text = "all its threads sleep in locks" if len(tasks) > 1 else "its only thread sleeps in a lock"
    if _awaited_in_a_call(case, member):
        return Reading.possible(
            _STUCK, "sleeps in a lock: in the same call as its peers, or in one of its own that nobody gives", text
        )
    return Reading.possible(
        "lock-order-deadlock", "waits for a lock or condition inside itself that nobody is left to give", text,
        "it shares no semaphore with other processes",
    )  # fmt: skip


def _awaited_in_a_call(case: Case, member: Member) -> bool:
    """Whether those who wait for it were seen in a call of all ranks, in which each of them sleeps in a lock as well."""
    waiters = (case.standings.get(wait.waiter) for wait in case.graph.to(member.ref))
    return any(one is not None and one.thread is not None and one.kind is WaitKind.COLLECTIVE for one in waiters)


def _count(member: Member) -> int:
    kernel = member.latest(Threads)
    return len(kernel.threads) if kernel else 0


def lost_child(case: Case, standing: Standing) -> Reading | None:
    """One that naps again and again beside a child that has failed: it may ask in vain whether that is ready."""
    child = fallen(case, standing.member) if pauses(standing) else None
    if child is None or child.process.parent != standing.member.ref.pid:
        return None
    how = f"{who(child.process)} {ended(child)}"
    found = Reading.possible("child-dead", "naps again and again, and a child of it has failed", how)
    return dataclasses.replace(found, others=(child.process,))


def fallen(case: Case, member: Member) -> Member | None:
    """A child of a process, or another child of its parent, that has failed or was killed and that nobody has collected."""
    near = (member.ref.pid, member.process.parent)
    kin = (one for one in case.by_host.get(member.ref.host, ()) if one.process.parent in near and one is not member)
    return next((one for one in kin if one.dead and status(one)), None)


def orphaned(case: Case, member: Member) -> bool:
    """Whether the only thread of a process reads from a pipe that only it can write to, and holds a pipe without a writer.

    At the end of a pipe without writers a reader does not sleep; multiprocessing leaves one behind when a child ends.
    """
    wait, kernel, beside = open_waits(member).get(member.ref.pid), member.latest(Threads), member.latest(Outsiders)
    if wait is None or kernel is None or len(kernel.threads) > 1:
        return False
    strangers = {one.fd for one in beside.found} if beside else set()
    pipes = {fd: target for fd, target in targets(member, wait.fds) if isinstance(target, str)}
    writers = {fd: {one.ref for one in case if holds(one, pipe, "w")} for fd, pipe in pipes.items()}
    alive = [found for fd, found in writers.items() if found or fd in strangers]
    return (
        bool(alive)
        and all(found == {member.ref} for found in alive)
        and len(alive) < len(writers)
        and not strangers & {*pipes}
    )


def unread(case: Case, ref: ProcessRef) -> Gap | None:
    """Why its stack is missing, where it was not refused but could not be made out."""
    return next(
        (
            gap
            for gap in case.snapshot.gaps
            if gap.what == "python-stacks" and gap.process == ref and gap.why is not Why.DENIED
        ),
        None,
    )


def way_in(case: Case, ref: ProcessRef) -> tuple[Step | str, ...]:
    """What would show the stack of a process: the right to look, or where we may look, a reader that knows what we do not."""
    if unread(case, ref) is not None:
        return (Step(f"rankscope stacks pid:{ref.pid} --engine py-spy", ref, "another reader, which may know its Python"),
                Step(f"rankscope stacks pid:{ref.pid} --native", ref))  # fmt: skip
    return (Step(f"sudo -E rankscope diagnose pid:{ref.pid}", ref, "its stack decides"),
            "rankscope explain ptrace   # who may look; py-spy and gdb are refused as well")  # fmt: skip
