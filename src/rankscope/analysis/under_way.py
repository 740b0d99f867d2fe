"""Connections between processes of the job with data under way: sent and not acknowledged, or not yet read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..model.evidence.blocked import Blocked
from ..model.evidence.files import OpenFiles
from ..model.evidence.sockets import Socket, Sockets
from ..model.process import ProcessRef, Role
from .awaited import open_waits
from .case import Case, Member

# A lost packet is no hang: the first three come within a second and a half (RFC 6298; Linux: at least 0.2 s, doubled each time).
OFTEN = 3


@dataclass(frozen=True)
class Pair:
    """A connection whose data is under way to a process that reads from it; ``still_s`` is how long that one has stood."""

    sender: ProcessRef
    receiver: ProcessRef
    sending: Socket
    still_s: float | None


def stalled_pairs(case: Case) -> Iterator[Pair]:
    """Connections on which the kernel has sent the same bytes again and again."""
    return (pair for pair in under_way(case) if pair.sending.resent >= OFTEN)


def under_way(case: Case) -> Iterator[Pair]:
    """Connections with bytes in the sender's queue, none in the receiver's, and a reader that waits for them."""
    ends = _ends(case)
    for (local, peer), holders in ends.items():
        sender, sending = holders[0]
        if sending.send_queue <= 0 or sending.state != "established":
            continue
        for receiver, receiving in ends.get((peer, local), ()):
            if receiving.receive_queue == 0 and receiver.ref != sender.ref and _reads(receiver, receiving):
                yield Pair(sender.ref, receiver.ref, sending, case.standings[receiver.ref].still_s)
                break


def _ends(case: Case) -> dict[tuple[str, str], list[tuple[Member, Socket]]]:
    """Every end of a connection with those who hold it: loader workers inherit the sockets of their rank, who comes first."""
    ends: dict[tuple[str, str], list[tuple[Member, Socket]]] = {}
    for member in sorted(case, key=lambda member: member.process.role is not Role.RANK):
        for socket in _sockets(member):
            if socket.kind == "tcp" and socket.peer:
                ends.setdefault((socket.local, socket.peer), []).append((member, socket))
    return ends


def _sockets(member: Member) -> tuple[Socket, ...]:
    found = member.latest(Sockets)
    return found.sockets if found else ()


def _reads(member: Member, one: Socket) -> bool:
    """Whether some thread of the process is blocked in a read of this very socket."""
    blocked, files = member.latest(Blocked), member.latest(OpenFiles)
    fds = {f.fd for f in files.files if f.target == f"socket:[{one.inode}]"} if files else set()
    if any(fds & set(wait.fds) and not wait.writes for wait in open_waits(member).values()):
        return True  # which call it is may not be seen, only what it may wait on
    calls = blocked.calls if blocked else ()
    return any(fds & set(call.fds) and not call.call.startswith(("send", "write")) for call in calls)
