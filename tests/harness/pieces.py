"""Memory of a process that is none: pieces written down by a test."""

from __future__ import annotations

from rankscope.memory.source import READ_LIMIT, READS_LIMIT, Unreadable


class BytesMemory:
    """Memory made of given pieces: ``{address: bytes}``."""

    def __init__(self, pieces: dict[int, bytes]) -> None:
        self._pieces = sorted(pieces.items())
        self.reads = 0

    def read(self, address: int, size: int) -> bytes:
        """Return exactly ``size`` bytes of one piece, or raise Unreadable."""
        data = self.read_some(address, size)
        if len(data) != size:
            raise Unreadable(f"{size} bytes at {address:#x}")
        return data

    def read_some(self, address: int, size: int) -> bytes:
        """Return up to ``size`` bytes of the piece that holds the address."""
        self.reads += 1
        if self.reads > READS_LIMIT or not 0 < size <= READ_LIMIT:
            raise Unreadable("budget spent")
        for start, data in self._pieces:
            if start <= address < start + len(data):
                return data[address - start : address - start + size]
        raise Unreadable(f"{size} bytes at {address:#x}")
