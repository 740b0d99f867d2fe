"""Who is kept waiting for the answer of a process: any thread of another one that reads from a connection to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.evidence.blocked import Blocked
from ..model.evidence.sockets import Socket, Sockets
from ..model.evidence.threads import Threads
from .case import Member
from .ends import targets

_READS = ("read", "recv")


def kept_waiting_s(members: Iterable[Member], server: Member) -> float | None:
    """For how long the one that has waited longest has done so; None where nobody waits."""
    known = server.latest(Sockets)
    mine = known.sockets if known else ()
    ages = (
        age
        for one in members
        if one.ref != server.ref
        for target, age in _reads(one)
        if any(_ends_of_one(target, socket, one.ref.host == server.ref.host) for socket in mine)
    )
    return max(ages, default=None)


def _reads(member: Member) -> Iterator[tuple[Socket, float]]:
    """The connections from which threads of a process wait to read, without a time limit, each with its age."""
    blocked, kernel = member.latest(Blocked), member.latest(Threads)
    still = {task.tid: task.still_s for task in kernel.threads} if kernel else {}
    for call in blocked.calls if blocked else ():
        age = still.get(call.tid)
        if call.call.startswith(_READS) and not call.timed and age is not None:
            yield from ((one, age) for _, one in targets(member, call.fds) if isinstance(one, Socket))


def _ends_of_one(mine: Socket, other: Socket, one_host: bool) -> bool:
    """Whether two sockets are the ends of one connection; loopback addresses mean something on one host only."""
    if one_host and mine.peer_inode and mine.peer_inode == other.inode:
        return True
    near = mine.local.startswith(("127.", "[::1]"))
    return bool(mine.peer) and (mine.local, mine.peer) == (other.peer, other.local) and (one_host or not near)
