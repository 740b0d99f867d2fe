"""Data has been sent, the peer waits for it, and it does not arrive.

## What it means
A connection looks established at both ends, yet packets are lost on the way: a firewall or NAT that forgot the connection, a
wrong MTU, a dead link that nobody reset. TCP keeps trying for many minutes without telling the program.

## How it is recognised
One end's send queue holds bytes that are not acknowledged, the other end's receive queue is empty, and its process waits to
read from exactly this connection, for longer than `--stuck-after`.

## What to do
Test the path between the two addresses in both directions and with large packets (`ping -M do -s 8972`), look at firewall
rules and `ss -tinp` (retransmissions), and at the counters of the interfaces.

## How to prevent it
A preflight test of all pairs; open the ephemeral ports between the nodes; keep-alives shorter than the NAT's idle limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..analysis.case import Case, Member
from ..model.diagnosis import Certainty, Finding, Kind, Reason
from ..model.evidence.blocked import Blocked
from ..model.evidence.files import OpenFiles
from ..model.evidence.sockets import Socket, Sockets
from ..model.process import ProcessRef
from ..model.words import span
from . import Rule
from ._say import name


@dataclass(frozen=True)
class Pair:
    """A connection whose data is under way and does not arrive."""

    sender: ProcessRef
    receiver: ProcessRef
    sending: Socket
    still_s: float | None


def check(case: Case) -> Iterator[Finding]:
    for pair in stalled_pairs(case):
        if not case.stuck(pair.still_s):
            continue
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"data from {name(case, pair.sender)} does not reach {name(case, pair.receiver)}: "
                  f"{pair.sending.local} → {pair.sending.peer}",
            processes=tuple(case.by_ref[ref].process for ref in (pair.sender, pair.receiver)),
            because=(Reason(f"{pair.sending.send_queue} bytes stand unacknowledged in the send queue; the receive queue of the "
                            "other end is empty", "sockets", pair.sender),
                     Reason(f"the other end has waited to read from it for {span(pair.still_s)}", "kernel", pair.receiver)),
            next=("ss -tinp | grep -A1 " + pair.sending.peer, f"ping -c3 -M do -s 8972 {pair.sending.peer.rpartition(':')[0]}"),
        )  # fmt: skip


def stalled_pairs(case: Case) -> Iterator[Pair]:
    """Connections with bytes in the sender's queue, none in the receiver's, and a reader that waits for them."""
    ends = {(s.local, s.peer): (member, s) for member in case for s in _sockets(member) if s.kind == "tcp" and s.peer}
    for (local, peer), (member, sending) in ends.items():
        other = ends.get((peer, local))
        if sending.send_queue <= 0 or sending.state != "established" or other is None:
            continue
        receiver, receiving = other
        if receiving.receive_queue == 0 and receiver.ref != member.ref and _reads(receiver, receiving):
            yield Pair(member.ref, receiver.ref, sending, case.standings[receiver.ref].still_s)


def _sockets(member: Member) -> tuple[Socket, ...]:
    found = member.latest(Sockets)
    return found.sockets if found else ()


def _reads(member: Member, one: Socket) -> bool:
    """Whether some thread of the process is blocked in a read of this very socket."""
    blocked, files = member.latest(Blocked), member.latest(OpenFiles)
    if blocked is None or files is None:
        return False
    fds = {f.fd for f in files.files if f.target == f"socket:[{one.inode}]"}
    return any(fds & set(call.fds) and not call.call.startswith(("send", "write")) for call in blocked.calls)


RULE = Rule(id="connection-silent", cls="network-blackhole", check=check, page=__doc__ or "", order=19)
