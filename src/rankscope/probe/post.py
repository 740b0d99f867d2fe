"""The answer of an agent, as lines of text, since it travels through tools that think in lines.

A ``begin`` line, lines that start with a colon and hold base64 of one compressed stream of the wire, an ``end`` line. What a
login script prints in between is not ours and is passed over.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
import zlib
from typing import Callable

MARK = "rankscope-agent"
PROTOCOL = 1
WANT = f"{MARK} {PROTOCOL} want ".encode()  # what a node says that lacks a part of the agent
LINE_BYTES = (
    735  # 980 characters of base64: srun --label cuts lines at 1,024, and short lines make fan-out engines slow
)
OUTPUT_LIMIT = 64 << 20  # of compressed bytes; a thousand ranks need a few hundred thousand
_FLUSH_S = 0.3

Send = Callable[[bytes], object]


class Post:
    """Packs lines of the wire and sends them off, some at a time, so that an answer that breaks off is worth reading."""

    def __init__(self, send: Send) -> None:
        self._send, self._packer = send, zlib.compressobj(6)
        self._held, self._sent, self._last = b"", 0, time.monotonic()
        self._unsent = self.full = False

    def begin(self, name: str, installation: str = "") -> None:
        about = {"host": name, "now": time.time(), "python": sys.version.split()[0], "uid": os.getuid(),
                 "machine": os.uname().machine, "installation": installation}  # fmt: skip
        self._send(f"{MARK} {PROTOCOL} begin {json.dumps(about)}\n".encode())

    def text(self, lines: str) -> None:
        if self.full:
            return
        self._held += self._packer.compress(lines.encode("utf-8", "surrogateescape"))
        self._unsent = True
        if time.monotonic() - self._last > _FLUSH_S:
            self.flush()

    def flush(self) -> None:
        if self._unsent:
            self._ship(self._held + self._packer.flush(zlib.Z_SYNC_FLUSH))

    def end(self) -> None:
        self._ship(self._held + self._packer.flush(zlib.Z_FINISH))
        self._send(f"{MARK} {PROTOCOL} end {self._sent}\n".encode())

    def _ship(self, packed: bytes) -> None:
        self._held, self._last, self._unsent = b"", time.monotonic(), False
        lines = [
            b":" + base64.b64encode(packed[at : at + LINE_BYTES]) + b"\n" for at in range(0, len(packed), LINE_BYTES)
        ]
        self._sent += len(packed)
        self.full = self._sent > OUTPUT_LIMIT
        self._send(b"".join(lines))
