"""A read-only client of torch's TCPStore (torch/csrc/distributed/c10d/TCPStoreBackend).

The exchange is fixed: greet, count the keys, list them; where a release cannot list, ask whether certain keys exist. Nothing
is set, added, waited for or deleted, values are never fetched, and the store does not count us as a worker.
"""

from __future__ import annotations

import contextlib
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
RANKS_ASKED_FOR = 4096
_TOGETHER = 64  # ranks whose keys are asked for at once; a world of thousands takes some tens of round trips
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
            return _guessed(_Client(host, port, end), f"{host}:{port}", world_size)
    except (_Silent, socket.timeout):
        return Gap("store", Why.TIMEOUT, f"the store at {host}:{port} does not answer")
    except OSError as error:
        return Gap("store", Why.UNREACHABLE, f"the store at {host}:{port}: {error.strerror or error}")


def _guessed(client: _Client, address: str, world_size: int) -> StoreKeys:
    """Which of the keys exist that ranks are known to write; where time ends, those that it was asked for until then."""
    count, asked = client.count(), 0
    found: list[str] = []
    with contextlib.suppress(_Silent, OSError):
        while asked < min(world_size, RANKS_ASKED_FOR):
            ranks = range(asked, min(asked + _TOGETHER, world_size, RANKS_ASKED_FOR))
            keys = [guess.format(rank=rank) for rank in ranks for guess in _GUESSES]
            found += [key.lstrip("/") for key, there in zip(keys, client.have(keys)) if there]
            asked = ranks.stop
    return StoreKeys(address, tuple(found), count, listed=False, ranks_asked=asked if asked < world_size else None)


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

    def have(self, keys: Sequence[str]) -> tuple[bool, ...]:
        """Whether each of these keys is there: a question for each, sent together, since answers come in their order."""
        raw = [key.encode() for key in keys]
        self._socket.settimeout(self._left())
        self._socket.sendall(b"".join(struct.pack("<BQQ", _CHECK, 1, len(key)) + key for key in raw))
        return tuple(answer == _READY for answer in self._take(len(raw)))

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
