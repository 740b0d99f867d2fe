"""What has come through the TCP connections for which a process waits (tcp_info, tcp(7))."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class Flow:
    """One connection, by the inode and the addresses of this end: ``received`` bytes have come, ``acknowledged`` bytes that went
    out have arrived at the other end."""

    inode: int
    local: str
    peer: str
    received: int
    acknowledged: int


@evidence("traffic")
@dataclass(frozen=True)
class Traffic:
    """The connections from which threads of one process were waiting to read when it was looked at first."""

    flows: tuple[Flow, ...]
