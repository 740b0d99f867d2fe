"""TCP and unix sockets of a process with state, queues and peer, from /proc/PID/net and sock_diag(7).

The tables are per network namespace and cost milliseconds, so each is read once per sweep and shared.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import struct
import time

from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Socket, Sockets, inode_of
from .. import procfs
from ..collector import Collector, Target, Touch
from ..netlink import unix_peers

_STATES = {
    1: "established", 2: "syn-sent", 3: "syn-recv", 4: "fin-wait-1", 5: "fin-wait-2", 6: "time-wait", 7: "close",
    8: "close-wait", 9: "last-ack", 10: "listen", 11: "closing",
}  # fmt: skip
_FRESH_S = 0.5  # within one sweep the tables are not read again
_MAX_SOCKETS = 1024


def collect(target: Target) -> Sockets | None:
    files = target.seen.get("files")
    inodes = [inode for one in (files.files if isinstance(files, OpenFiles) else ()) if (inode := inode_of(one.target))]
    if not inodes:
        return None
    table = _table(target)
    found = [table[inode] for inode in inodes[:_MAX_SOCKETS] if inode in table]
    return Sockets(tuple(found))


def _table(target: Target) -> dict[int, Socket]:
    """All sockets of the process's network namespace, by inode."""
    namespace = os.readlink(f"{target.path}/ns/net")
    read_at, table = target.shelf.get(namespace, (0.0, {}))
    if time.monotonic() - read_at > _FRESH_S:
        table = _read(target, namespace)
        target.shelf[namespace] = (time.monotonic(), table)
    return table  # type: ignore[no-any-return]


def _read(target: Target, namespace: str) -> dict[int, Socket]:
    table: dict[int, Socket] = {}
    queued: set[tuple[str, str]] = set()
    for name in ("tcp", "tcp6"):
        try:
            lines = procfs.read(f"{target.path}/net/{name}", 64 << 20).decode("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        for one in map(_tcp, lines):
            table[one.inode] = one
            if not one.inode and one.state == "established":  # no process has it: it waits in the queue of accept(2)
                queued.add((one.peer, one.local))
    by_pair = {(one.local, one.peer): one.inode for one in table.values()}
    for inode, one in list(table.items()):
        other = by_pair.get((one.peer, one.local), 0)
        if other:
            table[inode] = dataclasses.replace(one, peer_inode=other)
        elif one.state == "syn-sent" and _has_callers(table, _listener(by_pair, one.peer)):
            queued.add((one.local, one.peer))  # where the queue of accept(2) is full, requests are dropped (listen(2))
    for near, far in queued:
        asker, server = by_pair.get((near, far), 0), _listener(by_pair, far)
        if asker and server:
            table[asker] = dataclasses.replace(table[asker], peer_inode=server, unaccepted=True)
    if namespace == os.readlink(f"{target.proc}/self/ns/net"):
        try:
            for inode, (peer, state, rx, tx) in unix_peers().items():
                table[inode] = Socket(inode, "unix", state=state, receive_queue=rx, send_queue=tx, peer_inode=peer)
        except OSError:
            pass  # a kernel or sandbox without sock_diag: unix sockets then have no peers
    return table


def _listener(by_pair: dict[tuple[str, str], int], address: str) -> int:
    """The inode of the socket that listens at an address, or at all addresses of its port; 0 when there is none."""
    port = address.rpartition(":")[2]
    places = [f"{host}:{port}" for host in (address.rpartition(":")[0], "0.0.0.0", "[::]")]  # noqa: S104 - what others bound
    return next((by_pair[place, no] for place in places for no in ("0.0.0.0:0", "[::]:0") if (place, no) in by_pair), 0)


def _has_callers(table: dict[int, Socket], server: int) -> bool:
    """Whether connections stand in the queue of a socket that listens: that is what its receive queue counts."""
    return server in table and table[server].receive_queue > 0


def _tcp(line: str) -> Socket:
    """One line of /proc/net/tcp (kernel documentation, proc_net_tcp): ``retrnsmt`` counts timeouts that were not recovered."""
    fields = line.split()
    tx, rx = fields[4].split(":")
    return Socket(int(fields[9]), "tcp", _address(fields[1]), _address(fields[2]), _STATES.get(int(fields[3], 16), fields[3]),
                  int(rx, 16), int(tx, 16), resent=int(fields[6], 16))  # fmt: skip


def _address(text: str) -> str:
    """``0100007F:1F90`` → ``127.0.0.1:8080``; an IPv4 address inside IPv6 is shown as IPv4, so that both ends compare."""
    host, port = text.split(":")
    words = [int(host[i : i + 8], 16) for i in range(0, len(host), 8)]
    if len(words) == 4 and words[:2] == [0, 0] and words[2] in (0xFFFF0000, 0x0000FFFF):
        words = words[3:]
    raw = b"".join(struct.pack("=I", word) for word in words)
    name = socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)
    return f"{name}:{int(port, 16)}" if len(raw) == 4 else f"[{name}]:{int(port, 16)}"


COLLECTOR = Collector("sockets", Touch.PASSIVE, 3.0, collect, every_sweep=False, order=31)
