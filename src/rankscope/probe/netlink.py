"""What the kernel tells of sockets by sock_diag(7) only: the peers of unix sockets, what has come through TCP connections."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_SHOW_PEER, _SHOW_RQLEN = 0x4, 0x10  # UDIAG_SHOW_*
_ATTR_PEER, _ATTR_RQLEN = 2, 4  # UNIX_DIAG_*
_DONE, _ERROR = 3, 2
_REQUEST = 0x1  # NLM_F_REQUEST
_INFO = 2  # INET_DIAG_INFO
_ANY_STATE, _NO_COOKIE = 0xFFFFFFFF, 0xFFFFFFFF
_MESSAGE = 16 + 72  # nlmsghdr, inet_diag_msg
_COUNTS = 120  # tcpi_bytes_acked in tcp_info, and tcpi_bytes_received behind it (linux/tcp.h, since 4.1)
_STATES = {1: "established", 7: "unconnected", 10: "listen"}


def unix_peers() -> dict[int, tuple[int, str, int, int]]:
    """inode → (peer inode, state, receive queue, send queue) of every unix socket of this network namespace."""
    found: dict[int, tuple[int, str, int, int]] = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as channel:
        channel.settimeout(1.0)
        ask = struct.pack("<BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _SHOW_PEER | _SHOW_RQLEN, 0, 0)
        channel.send(struct.pack("<IHHII", 16 + len(ask), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + ask)
        while True:
            if _take(channel.recv(1 << 18), found):
                return found


def tcp_counts(ends: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, int]]:
    """(bytes acknowledged, bytes received) of connections of this network namespace, each by its own end and the other one, as
    ``10.1.2.3:29500`` or ``[::1]:29500``; those that the kernel does not know are left out."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as channel:
        channel.settimeout(1.0)
        for local, peer in ends:
            family, near, near_port = _end(local)
            _, far, far_port = _end(peer)
            ask = struct.pack("<BBBxI", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), _ANY_STATE)
            ask += struct.pack(">HH16s16s", near_port, far_port, near, far)
            ask += struct.pack("<III", 0, _NO_COOKIE, _NO_COOKIE)
            channel.send(struct.pack("<IHHII", 16 + len(ask), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0) + ask)
            counts = _counts(channel.recv(1 << 14))
            if counts is not None:
                found[local, peer] = counts
    return found


def _end(address: str) -> tuple[int, bytes, int]:
    """Family, address and port of one end."""
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    return family, socket.inet_pton(family, host.strip("[]")), int(port)


def _counts(data: bytes) -> tuple[int, int] | None:
    """The counts in the answer about one connection, None where it is an error or the kernel is too old."""
    if len(data) < _MESSAGE or struct.unpack_from("<H", data, 4)[0] != _SOCK_DIAG_BY_FAMILY:
        return None
    for kind, value in _attributes(data[_MESSAGE:]):
        if kind == _INFO and len(value) >= _COUNTS + 16:
            acknowledged, received = struct.unpack_from("<QQ", value, _COUNTS)
            return acknowledged, received
    return None


def _take(data: bytes, found: dict[int, tuple[int, str, int, int]]) -> bool:
    """Read the messages of one datagram; True when the dump has ended."""
    at = 0
    while at + 16 <= len(data):
        size, kind = struct.unpack_from("<IH", data, at)
        if kind in (_DONE, _ERROR) or size < 16:
            return True
        _, _, state, _, inode = struct.unpack_from("<BBBBI", data, at + 16)
        peer, rx, tx = _unix(data[at + 32 : at + size])
        found[inode] = (peer, _STATES.get(state, str(state)), rx, tx)
        at += (size + 3) & ~3
    return not data


def _unix(data: bytes) -> tuple[int, int, int]:
    """Peer, receive queue and send queue among the attributes of a unix socket."""
    peer = rx = tx = 0
    for kind, value in _attributes(data):
        if kind == _ATTR_PEER and len(value) >= 4:
            (peer,) = struct.unpack_from("<I", value)
        elif kind == _ATTR_RQLEN and len(value) >= 8:
            rx, tx = struct.unpack_from("<II", value)
    return peer, rx, tx


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and value of each attribute behind a message (rtnetlink(7), struct rtattr)."""
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("<HH", data, at)
        if size < 4:
            return
        yield kind, data[at + 4 : at + size]
        at += (size + 3) & ~3
