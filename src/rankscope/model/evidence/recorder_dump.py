"""A dump of the flight recorder as the process itself wrote or sent it: bytes, understood only where formats are."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass

from . import evidence

MOST_BYTES = 32 << 20


@evidence("recorder-dump")
@dataclass(frozen=True)
class RecorderDump:
    """``source`` is dump (a file at ``place``) or socket (the worker server there); ``written_ns`` is when it was made."""

    source: str
    place: str
    written_ns: int
    packed: str

    @classmethod
    def of(cls, source: str, place: str, written_ns: int, data: bytes) -> RecorderDump:
        """Pack the bytes of a dump: what repeats itself a thousand times travels small, as text."""
        return cls(source, place[:1024], written_ns, base64.b64encode(zlib.compress(data, 6)).decode())

    def data(self) -> bytes:
        """The bytes again; raises ValueError when they are damaged or unfold to more than a dump has."""
        try:
            unpacker = zlib.decompressobj()
            out = unpacker.decompress(base64.b64decode(self.packed), MOST_BYTES + 1)
        except (zlib.error, ValueError) as error:
            raise ValueError(f"damaged on the way: {error}") from None
        if len(out) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MiB")
        return out
