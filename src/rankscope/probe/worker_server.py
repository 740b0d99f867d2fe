"""A read-only client of torch's worker server (torch/csrc/distributed/c10d/control_plane): the recorder, as JSON.

Its threads answer without the GIL, so it speaks while the program hangs. Only the recorder is asked for; other handlers
run py-spy or wait for the GIL.
"""

from __future__ import annotations

import contextlib
import socket
import time

from ..model.evidence.recorder_dump import MOST_BYTES

# Builds for CUDA keep a recorder of NCCL besides gloo's: it is asked for first.
_HANDLERS = ("dump_nccl_trace_json", "fr_trace_json")
_HEAD_LIMIT = 1 << 16


def recorder(path: str, deadline_s: float = 2.0) -> bytes:
    """The recorder that the server at a Unix socket tells, empty when it has none; raises OSError."""
    end = time.monotonic() + deadline_s
    told = b""
    for handler in _HANDLERS:
        said = _ask(path, handler, end)
        told = said if b'"entries"' in said else told or said
        if b'"entries"' in told:
            break
    return told


def _ask(path: str, handler: str, end: float) -> bytes:
    """What one handler answers; empty where the server does not know it."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)) as client:
        client.settimeout(_left(end))
        client.connect(path)
        client.sendall(f"POST /handler/{handler} HTTP/1.0\r\nContent-Length: 0\r\n\r\n".encode())
        return _body(client, end)


def _body(client: socket.socket, end: float) -> bytes:
    raw = b""
    while b"\r\n\r\n" not in raw and len(raw) < _HEAD_LIMIT:
        piece = _piece(client, end)
        if not piece:
            return b""
        raw += piece
    head, _, body = raw.partition(b"\r\n\r\n")
    size = _size(head)
    parts, have = [body], len(body)
    while have < size and (piece := _piece(client, end)):
        parts.append(piece)
        have += len(piece)
    return b"".join(parts)[:size]


def _size(head: bytes) -> int:
    """The length that a good answer announces; 0 for any other."""
    first, *lines = head.split(b"\r\n")
    if first.split(b" ")[1:2] != [b"200"]:
        return 0
    for line in lines:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return min(int(value[:12]), MOST_BYTES)
    return 0


def _piece(client: socket.socket, end: float) -> bytes:
    client.settimeout(_left(end))
    return client.recv(1 << 18)


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise socket.timeout("it does not answer")
    return left
