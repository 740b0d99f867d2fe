"""Who asks again and again, or waits for an event, that only its children could bring, all of which are dead.

That a signal ended one of them tells enough. One that gave an exit status other than 0 may have nothing to do with what its
parent does meanwhile, as a command that found nothing: there a tie between the two is wanted.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable

from ..model.evidence.files import OpenFiles
from ..model.evidence.outsiders import Outsiders
from ..model.evidence.threads import Threads
from ..model.process import Role
from .callers import call_of
from .case import Member
from .ends import writable
from .frame_tables import WaitKind
from .identity import birth
from .kernel_says import awaited_target
from .load import reads_nothing, watched_s
from .origin import module_path
from .progress import advances
from .standing import Standing
from .threads import possible_holders, views

# Where a process reads what others of its program put into a queue or pipe.
QUEUES = ("multiprocessing/queues.py", "multiprocessing/connection.py")


def polled_for(standing: Standing, members: Iterable[Member]) -> tuple[Member, ...]:
    """The children of a process that ended badly, where all of them are dead and it polls for what they should bring; else none.

    Who reads on where nothing comes any more misses also a child that ended well.
    """
    me = standing.member
    if standing.wait.user < 0 or not standing.ran:
        return ()
    if reads_nothing(me):  # whatever it counts, nothing comes
        family = tuple(members)
        return _all_dead(me, family, lambda child: True) if _at_end(me, family) else ()
    if _asks_queue(standing):  # in whose locals the queue keeps until when it waits
        return _all_dead(me, members, failed) if _stays(standing) and _nobody_sends(standing) else ()
    if standing.kind in (WaitKind.SLEEP, WaitKind.USER) and not advances(standing):
        return _all_dead(me, members, lambda child: killed(child) or (failed(child) and _names(standing, child)))
    return ()


def awaited(standing: Standing, members: Iterable[Member]) -> tuple[Member, ...]:
    """The children that a signal ended, where all are dead and their parent reads an event descriptor; else none.

    Only who got such a descriptor at a fork can signal it (eventfd(2)).
    """
    return _all_dead(standing.member, members, killed) if _reads_event(standing) else ()


def _all_dead(me: Member, members: Iterable[Member], badly: Callable[[Threads], bool]) -> tuple[Member, ...]:
    """Those zombies among its children that ended like this, where no other child lives."""
    children = [one for one in members if one.process.parent == me.ref.pid and one.ref.host == me.ref.host
                and one.role is not Role.HELPER]  # fmt: skip
    zombies = [(child, child.latest(Threads)) for child in children if child.dead and not child.gone]
    ended = tuple(child for child, kernel in zombies if kernel is not None and badly(kernel))
    return ended if all(child.dead for child in children) else ()


def often(standing: Standing) -> bool:
    """Whether it woke more than once a second between the looks: who naps for longer may have nothing to do."""
    first, last = standing.member.first(Threads), standing.member.latest(Threads)
    tid = standing.kernel.tid if standing.kernel else 0
    counts = [one.voluntary for look in (first, last) if look for one in look.threads if one.tid == tid]
    passed = watched_s(standing.member) or 0.0
    return passed > 0 and len(counts) == 2 and (counts[1] - counts[0]) / passed > 1.0


def killed(kernel: Threads) -> bool:
    """Whether a signal has ended a process, and not one that its parent sends to be rid of it."""
    return (kernel.exit_status or 0) & 0x7F not in (0, signal.SIGTERM, signal.SIGINT)


def failed(kernel: Threads) -> bool:
    """Whether a process was ended by such a signal, or ended with a status other than 0."""
    return killed(kernel) or (kernel.exit_status or 0) >> 8 != 0


def _reads_event(standing: Standing) -> bool:
    """Whether its thread is blocked in the read of an event that no other thread of its own can be about to signal."""
    member, call = standing.member, call_of(standing)
    if call is None or call.timed or call.call != "read":
        return False
    if awaited_target(member, standing.kernel) != "anon_inode:[eventfd]":
        return False
    return not possible_holders(tuple(view for view in views(member) if view.python is not standing.thread))


def _stays(standing: Standing) -> bool:
    """Whether each look finds it in the same call of the job's code, with the same values there and above."""
    last = standing.wait.user + (birth(standing.thread.stack) if standing.thread is not None else 0)
    seen = {
        (one.stack[: last + 1], tuple(local for local in one.locals if local.depth <= last)) for one in standing.looks
    }
    return len(standing.looks) > 1 and len(seen) == 1


def _asks_queue(standing: Standing) -> bool:
    """Whether it waits, with a limit, for what another process puts into a queue or pipe of multiprocessing."""
    inside = standing.own_stack[standing.wait.user + 1 :]
    return standing.kind in (WaitKind.QUEUE, WaitKind.PIPE) and any(module_path(one.file) in QUEUES for one in inside)


def _at_end(member: Member, members: Iterable[Member]) -> bool:
    """Whether it has the end of a pipe open to read from into which nobody can write any more."""
    mine, beside = member.latest(OpenFiles), member.latest(Outsiders)
    taken = {one.fd for one in beside.found} if beside is not None else set()
    others = [one for one in members if not one.dead and one.ref.host == member.ref.host]
    written = {target for other in others for target in writable(other)}
    return mine is not None and any(
        one.mode == "r" and one.target.startswith("pipe:") and one.fd not in taken and one.target not in written
        for one in mine.files
    )


def _nobody_sends(standing: Standing) -> bool:
    """Whether no thread of its own is about to put something in, and no program beside has what it polls open."""
    member = standing.member
    beside, call = member.latest(Outsiders), call_of(standing)
    if call is None or not call.fds or any(one.fd in call.fds for one in (beside.found if beside else ())):
        return False
    return not possible_holders(tuple(view for view in views(member) if view.python is not standing.thread))


def _names(standing: Standing, kernel: Threads) -> bool:
    """Whether a number in the function that polls is that of the child."""
    thread, pid = standing.thread, next((one.tid for one in kernel.threads), 0)
    depth = standing.wait.user + (birth(thread.stack) if thread is not None else 0)
    numbers = [one.value for one in thread.locals if one.depth == depth] if thread is not None else []
    return str(pid) in numbers or str(kernel.ns_pid) in numbers
