"""Sockets of a process and who is at their other end."""

from __future__ import annotations

from dataclasses import dataclass

from ..patterns import regex
from . import evidence

_LINK = regex(r"socket:\[(\d{1,20})\]")


@dataclass(frozen=True)
class Socket:
    """One socket, by inode. Addresses read ``10.1.2.3:29500`` (or a path for unix sockets); ``peer_inode`` is 0 where
    the other end is on another host or unknown. Queues are in bytes; ``resent`` is how often in a row the kernel has sent
    its oldest data, or its request to connect, without an acknowledgement."""

    inode: int
    kind: str  # tcp, unix
    local: str = ""
    peer: str = ""
    state: str = ""
    receive_queue: int = 0
    send_queue: int = 0
    peer_inode: int = 0
    unaccepted: bool = False  # its server has not called accept: ``peer_inode`` is that of the socket which listens
    resent: int = 0


@evidence("sockets")
@dataclass(frozen=True)
class Sockets:
    """The TCP and unix sockets that one process has open."""

    sockets: tuple[Socket, ...]


def inode_of(target: str) -> int:
    """The inode of a socket, from what a descriptor points to (``socket:[4711]``, proc(5)); 0 where that is no socket."""
    found = _LINK.fullmatch(target)
    return int(found[1]) if found else 0
