"""A read-only client of torch's TCPStore (torch/csrc/distributed/c10d/TCPStoreBackend).

The exchange is fixed: greet, count the keys, list them; where a release cannot list, ask whether certain keys exist. Nothing
is set, added, waited for or deleted, values are never fetched, and the store does not count us as a worker.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator, Sequence

from ..model.evidence.store import StoreKeys
from ..model.gap import Gap, Why

_VALIDATE, _CHECK, _COUNT, _LIST = 0, 5, 7, 17
_MAGIC = 0x3C85F7CE
_READY = 0
MOST_KEYS = 200_000
MOST_BYTES = 32 << 20
_GUESSES = ("/default_pg/0//cpu//0/{rank}", "/default_pg/0//cuda//0/{rank}", "/worker/default_pg/0//cpu//0/{rank}")


class _Silent(Exception):
    """No (whole) answer came in time."""


def ask(host: str, port: int, world_size: int = 0, deadline_s: float = 2.0) -> StoreKeys | Gap:
    """What keys a store has."""
    end = time.monotonic() + deadline_s
    try:
        try:
            keys = _Client(host, port, end).list()
            return StoreKeys(f"{host}:{port}", tuple(keys), len(keys))
        except _Silent:
            client = _Client(host, port, end)
            count = client.count()
            guesses = [guess.format(rank=rank) for rank in range(min(world_size, 4096)) for guess in _GUESSES]
            found = tuple(key.lstrip("/") for key in guesses if client.has(key))
            return StoreKeys(f"{host}:{port}", found, count, listed=False)
    except (_Silent, socket.timeout):
        return Gap("store", Why.TIMEOUT, f"the store at {host}:{port} does not answer")
    except OSError as error:
        return Gap("store", Why.UNREACHABLE, f"the store at {host}:{port}: {error.strerror or error}")


class _Client:
    def __init__(self, host: str, port: int, end: float) -> None:
        self._end = end
        self._socket = socket.create_connection((host, port), timeout=self._left())
        self._socket.sendall(struct.pack("<BI", _VALIDATE, _MAGIC))

    def _left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise _Silent
        return left

    def list(self) -> Sequence[str]:
        with self._socket:
            # A release that does not know the question closes the connection; half the time is kept to ask otherwise.
            self._end -= self._left() / 2
            self._socket.sendall(struct.pack("<B", _LIST))
            (count,) = struct.unpack("<Q", self._take(8))
            if count > MOST_KEYS:
                raise _Silent
            return [key.lstrip("/") for key in self._texts(count)]

    def _texts(self, count: int) -> Iterator[str]:
        room = MOST_BYTES
        for _ in range(count):
            (size,) = struct.unpack("<Q", self._take(8))
            room -= size
            if room < 0:
                raise _Silent
            yield self._take(size).decode("utf-8", "replace")

    def count(self) -> int:
        self._socket.sendall(struct.pack("<B", _COUNT))
        return int(struct.unpack("<q", self._take(8))[0])

    def has(self, key: str) -> bool:
        raw = key.encode()
        self._socket.sendall(struct.pack("<BQQ", _CHECK, 1, len(raw)) + raw)
        return self._take(1)[0] == _READY

    def _take(self, size: int) -> bytes:
        pieces = []
        while size:
            self._socket.settimeout(self._left())
            piece = self._socket.recv(min(size, 1 << 16))
            if not piece:
                raise _Silent
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)
