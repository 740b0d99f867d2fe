"""What a wait in the kernel tells of the one who waits: a server that has no caller, a wait that began only now."""

from __future__ import annotations

from ..model.evidence.blocked import Blocked, BlockedCall
from ..model.evidence.files import OpenFiles
from ..model.evidence.sockets import Sockets, inode_of
from ..model.evidence.stacks import PythonStacks
from ..model.process import Role
from .case import Member
from .frame_tables import WaitKind
from .standing import Standing

_ACCEPT = {"accept", "accept4"}
_FOR_OTHERS = {WaitKind.CONDITION, WaitKind.QUEUE, WaitKind.LOCK, WaitKind.CHILD, WaitKind.SOCKET, WaitKind.PIPE}


def awaits_callers(standing: Standing) -> bool:
    """Whether its deciding thread stands in accept(2), or polls a socket that listens, which a server does between its calls for
    as long as it likes.

    A rank that does so is in the middle of its work: it waits for one caller that does not come.
    """
    call = call_of(standing)
    if standing.member.role is Role.RANK or call is None:
        return False
    return call.call in _ACCEPT or (not call.timed and not call.child and _listens(standing.member, call))


def has_server(member: Member) -> bool:
    """Whether one of its Python threads waits for callers; those of libraries (gloo, the store) listen for their peers alone."""
    blocked, stacks = member.latest(Blocked), member.latest(PythonStacks)
    known = {thread.tid for thread in stacks.threads} if stacks else set()
    calls = [call for call in (blocked.calls if blocked else ()) if call.tid in known]
    return any(call.call in _ACCEPT or _listens(member, call) for call in calls)


def _listens(member: Member, call: BlockedCall) -> bool:
    """Whether one of the descriptors that a call watches is a socket that listens."""
    files, sockets = member.latest(OpenFiles), member.latest(Sockets)
    if files is None or sockets is None:
        return False
    listening = {one.inode for one in sockets.sockets if one.state == "listen"}
    return any(inode_of(one.target) in listening for one in files.files if one.fd in call.fds)


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
