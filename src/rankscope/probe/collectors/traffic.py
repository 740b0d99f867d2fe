"""What has come through the TCP connections from which threads of a process wait to read, from tcp_info by sock_diag(7).

Two looks tell an answer that is under way, however slowly, from one that does not come: ``recv`` counts in no file of /proc/PID.
"""

from __future__ import annotations

import os

from ...model.evidence.blocked import Blocked
from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Sockets, inode_of
from ...model.evidence.traffic import Flow, Traffic
from ...model.process import Role
from ..collector import Collector, Target, Touch
from ..netlink import tcp_counts

_WORKS = frozenset({Role.RANK, Role.DATALOADER_WORKER, Role.COMPILE_WORKER, Role.OTHER})
_NO_READS = ("accept", "connect", "send", "write")
_MOST = 8  # an event loop over many connections is at work on none of them


def collect(target: Target) -> Traffic | None:
    """The bytes of the connections for which it waited at the first look, counted anew at each."""
    before = target.before
    known = before.flows if isinstance(before, Traffic) else _waited_for(target)
    if not known or os.readlink(f"{target.path}/ns/net") != os.readlink(f"{target.proc}/self/ns/net"):
        return None  # the kernel tells of the namespace of who asks
    try:
        counts = tcp_counts((one.local, one.peer) for one in known)
    except OSError:
        return None  # a kernel or sandbox without sock_diag
    flows = tuple(
        Flow(one.inode, one.local, one.peer, received, acknowledged)
        for one in known
        if (one.local, one.peer) in counts
        for acknowledged, received in (counts[one.local, one.peer],)
    )
    return Traffic(flows) if flows else None


def _waited_for(target: Target) -> tuple[Flow, ...]:
    """The connections from which some thread reads, or polls for something to read."""
    blocked, files, sockets = (target.seen.get(kind) for kind in ("blocked", "files", "sockets"))
    if not (isinstance(blocked, Blocked) and isinstance(files, OpenFiles) and isinstance(sockets, Sockets)):
        return ()
    fds = {
        fd
        for call in blocked.calls
        if not call.call.startswith(_NO_READS) and len(call.fds) <= _MOST
        for fd in call.fds
    }
    inodes = {inode_of(one.target) for one in files.files if one.fd in fds}
    found = [one for one in sockets.sockets if one.inode in inodes and one.kind == "tcp" and one.state == "established"]
    return tuple(Flow(one.inode, one.local, one.peer, 0, 0) for one in found[:_MOST])


COLLECTOR = Collector("traffic", Touch.PASSIVE, 1.0, collect, roles=_WORKS, order=34)
