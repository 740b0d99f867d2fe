"""A process waits on a connection whose other host acknowledges nothing.

## What it means
What the process sends is lost on its way, or the way back is: a firewall's rule that drops, a cable or a switch that is out, a
host that is off. Nobody sends a refusal, so the kernel sends again and again, at growing intervals, and tells the program after
two minutes for a new connection and a quarter of an hour for one that stood.

## How it is recognised
The thread that others wait for stands on one connection, which is either half open (`SYN-SENT`) or has bytes in its send queue
that the kernel has sent several times in a row without an acknowledgement (`retrnsmt` in `/proc/net/tcp`). A peer that merely
does not read acknowledges what it has no room for, and one whose queue of callers is full is seen where it listens.

## What to do
`ss -tino dst PEER` shows the count of resends; `ip route get PEER`, `ip -s link` and the firewall's rules on both hosts show
where packets end. `ss -K dst PEER` ends the connection, and the program gets its error at once.

## How to prevent it
A time limit for each connection and answer; `tcp_syn_retries`, and TCP_USER_TIMEOUT on long ones (tcp(7)).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.progress import advances
from ...analysis.standing import Standing
from ...analysis.under_way import OFTEN, stalled_pairs
from ...model.diagnosis import Finding, Kind, Reason, Step
from ...model.evidence.blocked import Blocked
from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Socket, Sockets, inode_of
from .. import make_rule
from .._say import certainty, just_come, old_roots, stands, waited_for, who

_ON_PEERS = (WaitKind.SOCKET, WaitKind.STORE, WaitKind.USER, WaitKind.LIBRARY)


def check(case: Case) -> Iterator[Finding]:
    for root, standing in old_roots(case) if case.snapshot.live else ():
        one = _connection(standing) if standing.kind in _ON_PEERS else None
        if one is None or not _lost(one) or _listens(case, one) or advances(standing):
            continue
        if any(pair.sending == one for pair in stalled_pairs(case)):
            continue  # both ends were seen: connection-silent tells of them
        process, host = standing.member.process, one.peer.rpartition(":")[0]
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty(case, root, standing),
            title=f"{who(process)} waits for {one.peer}, which acknowledges nothing", processes=(process,),
            because=(Reason(_how(one), "sockets", process.ref), stands(standing), *waited_for(root)),
            against=tuple(just_come(case, standing)),
            next=(Step(f"ss -tino dst {one.peer}", process.ref),
                  Step(f"ip route get {host}; ip -s link; nft list ruleset", process.ref)),
        )  # fmt: skip


def _connection(standing: Standing) -> Socket | None:
    """The TCP connection on which alone its thread waits."""
    member, task = standing.member, standing.kernel
    blocked, files, sockets = member.latest(Blocked), member.latest(OpenFiles), member.latest(Sockets)
    if not (blocked and files and sockets and task):
        return None
    fds = next((call.fds for call in blocked.calls if call.tid == task.tid), ())
    inodes = {inode_of(one.target) for one in files.files if (one.fd,) == fds}
    return next((one for one in sockets.sockets if one.inode in inodes and one.kind == "tcp"), None)


def _lost(one: Socket) -> bool:
    if one.peer_inode or one.unaccepted:
        return False  # the peer's end is on this host and was seen: other rules say what it does
    return one.state == "syn-sent" or (one.state == "established" and one.send_queue > 0 and one.resent >= OFTEN)


def _listens(case: Case, one: Socket) -> bool:
    """Whether a process of the job listens at the other end with callers in its queue, which drops what does not fit."""
    port = one.peer.rpartition(":")[2]
    found = (sockets for member in case if (sockets := member.latest(Sockets)) is not None)
    return one.state == "syn-sent" and any(
        other.state == "listen" and other.receive_queue and other.local.rpartition(":")[2] == port
        for sockets in found
        for other in sockets.sockets
    )


def _how(one: Socket) -> str:
    if one.state == "syn-sent":
        return f"its connection {one.local} → {one.peer} is half open: nobody said yes or no, after {one.resent + 1} requests"
    return f"{one.send_queue} bytes stand unacknowledged on {one.local} → {one.peer}, sent again {one.resent} times in a row"


RULE = make_rule(__name__, __doc__, "network-blackhole", 20, check)
