"""The kernel's own table of unix sockets with their peers (sock_diag(7)); /proc/net/unix does not name them."""

from __future__ import annotations

import socket
import struct

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_SHOW_PEER, _SHOW_RQLEN = 0x4, 0x10  # UDIAG_SHOW_*
_ATTR_PEER, _ATTR_RQLEN = 2, 4  # UNIX_DIAG_*
_DONE, _ERROR = 3, 2
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


def _take(data: bytes, found: dict[int, tuple[int, str, int, int]]) -> bool:
    """Read the messages of one datagram; True when the dump has ended."""
    at = 0
    while at + 16 <= len(data):
        size, kind = struct.unpack_from("<IH", data, at)
        if kind in (_DONE, _ERROR) or size < 16:
            return True
        _, _, state, _, inode = struct.unpack_from("<BBBBI", data, at + 16)
        peer, rx, tx = _attributes(data[at + 32 : at + size])
        found[inode] = (peer, _STATES.get(state, str(state)), rx, tx)
        at += (size + 3) & ~3
    return not data


def _attributes(data: bytes) -> tuple[int, int, int]:
    peer = rx = tx = at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from("<HH", data, at)
        if size < 4:
            break
        if kind == _ATTR_PEER and size >= 8:
            (peer,) = struct.unpack_from("<I", data, at + 4)
        elif kind == _ATTR_RQLEN and size >= 12:
            rx, tx = struct.unpack_from("<II", data, at + 4)
        at += (size + 3) & ~3
    return peer, rx, tx
