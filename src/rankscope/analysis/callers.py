"""What a wait in the kernel tells of the one who waits: a server that has no caller, a wait that began only now."""

from __future__ import annotations

from ..model.evidence.blocked import Blocked, BlockedCall
from ..model.process import Role
from .frame_tables import WaitKind
from .standing import Standing

_ACCEPT = {"accept", "accept4"}
_FOR_OTHERS = {WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.LOCK, WaitKind.CHILD, WaitKind.SOCKET, WaitKind.PIPE}


def awaits_callers(standing: Standing) -> bool:
    """Whether its deciding thread stands in accept(2), which a server does between its calls for as long as it likes.

    A rank that does so is in the middle of its work: it waits for one caller that does not come.
    """
    call = call_of(standing)
    return standing.member.role is not Role.RANK and call is not None and call.call in _ACCEPT


def began_s(standing: Standing) -> float | None:
    """How long ago somebody last woke a thread that waits without a time limit: until then it got on. None where a wait
    may end by itself, or where nothing tells.

    The limit of a message (half an hour in gloo) is that of a whole job, and ends no wait in which anybody asks again.
    """
    call = call_of(standing)
    endless = call is not None and not call.timed and standing.kind in _FOR_OTHERS
    endless = endless or standing.kind is WaitKind.P2P
    return standing.still_s if endless and standing.state == "S" and standing.ran is False else None


def call_of(standing: Standing) -> BlockedCall | None:
    """The system call in which the deciding thread waits."""
    blocked = standing.member.latest(Blocked) if standing.kernel else None
    calls = blocked.calls if blocked else ()
    return next((call for call in calls if standing.kernel and call.tid == standing.kernel.tid), None)
