"""Who asks again and again, or waits for an event, that only its children could bring, all of which are dead."""

from __future__ import annotations

import signal
from collections.abc import Iterable

from ..model.evidence.threads import Threads
from ..model.process import Role
from .callers import call_of
from .case import Member
from .frame_tables import WaitKind
from .kernel_says import awaited_target
from .load import watched_s
from .progress import advances
from .standing import Standing
from .threads import possible_holders, views


def polled_for(standing: Standing, members: Iterable[Member]) -> tuple[Member, ...]:
    """The children of a process that a signal ended, where all of them are dead and it polls; else none."""
    return _all_dead(standing.member, members) if _polls(standing) else ()


def awaited(standing: Standing, members: Iterable[Member]) -> tuple[Member, ...]:
    """The children that a signal ended, where all are dead and their parent reads an event descriptor; else none.

    Only who got such a descriptor at a fork can signal it (eventfd(2)).
    """
    return _all_dead(standing.member, members) if _reads_event(standing) else ()


def _all_dead(me: Member, members: Iterable[Member]) -> tuple[Member, ...]:
    """Those children that a signal ended, where no other child lives."""
    children = [one for one in members if one.process.parent == me.ref.pid and one.ref.host == me.ref.host
                and one.role is not Role.HELPER]  # fmt: skip
    killed = tuple(child for child in children if _killed(child))
    return killed if all(child.dead for child in children) else ()


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


def _killed(child: Member) -> bool:
    kernel = child.latest(Threads)
    return kernel is not None and child.dead and not child.gone and killed(kernel)


def _reads_event(standing: Standing) -> bool:
    """Whether its thread is blocked in the read of an event that no other thread of its own can be about to signal."""
    member, call = standing.member, call_of(standing)
    if call is None or call.timed or call.call != "read":
        return False
    if awaited_target(member, standing.kernel) != "anon_inode:[eventfd]":
        return False
    return not possible_holders(tuple(view for view in views(member) if view.python is not standing.thread))


def _polls(standing: Standing) -> bool:
    """Whether it wakes now and then in the job's own code and gets no further."""
    inside = standing.kind in (WaitKind.SLEEP, WaitKind.USER) and standing.wait.user >= 0
    return inside and bool(standing.ran) and not advances(standing)
