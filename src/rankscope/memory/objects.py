"""Strings, bytes, tuples and types of a foreign interpreter, read with every length checked first."""

from __future__ import annotations

import struct

from .layouts import Layout
from .source import Memory, Unreadable

TEXT_LIMIT = 4096
TYPE_NAME_LIMIT = 200
U64 = struct.Struct("<Q").unpack_from
I64 = struct.Struct("<q").unpack_from
U32 = struct.Struct("<I").unpack_from
I32 = struct.Struct("<i").unpack_from

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
# One read of this many bytes brings most strings and line tables whole.
PIECE = 256
_CODECS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}


class Objects:
    """Reads the simplest objects; ``static_types`` and ``words`` may be shared by processes forked from one another."""

    def __init__(
        self, memory: Memory, layout: Layout, static_types: dict[int, str], words: dict[str, int] | None = None
    ) -> None:
        self.memory, self.layout = memory, layout
        self._static = static_types
        self._types: dict[int, str] = {}
        self._words = {} if words is None else words
        self._checked: dict[str, int] = {}

    def pointer(self, address: int) -> int:
        """Read one pointer."""
        return int(U64(self.memory.read(address, 8))[0])

    def text(self, address: int, limit: int = TEXT_LIMIT) -> str:
        """Read a string of at most ``limit`` characters; a longer one is cut."""
        layout = self.layout
        head = self.memory.read_some(address, PIECE)
        if len(head) < layout.text_ascii:
            raise Unreadable(f"no string at {address:#x}")
        (length,) = U64(head, layout.text_length)
        kind, compact, ascii_only = self._state(U32(head, layout.text_state)[0])
        if kind not in _CODECS or not compact or length > 1 << 40:
            raise Unreadable(f"no string at {address:#x}")
        start = layout.text_ascii if ascii_only else layout.text_wide
        size = kind * min(length, limit)
        data = head[start : start + size] if start + size <= len(head) else self._long(address + start, size)
        return data.decode(_CODECS[kind], "replace")

    def word(self, text: str) -> int:
        """Where a relative of this process keeps its one copy of a name, if this one does too; 0 when that is not known.

        The interpreter keeps names only once, so a key of a dict is compared by its address, without reading it.
        """
        if text not in self._checked:
            address = self._words.get(text, 0)
            try:
                self._checked[text] = address if address and self.text(address, len(text) + 1) == text else 0
            except Unreadable:
                self._checked[text] = 0
        return self._checked[text]

    def met(self, text: str, address: int) -> None:
        """Remember where a name was found."""
        self._words[text] = self._checked[text] = address

    def _state(self, state: int) -> tuple[int, bool, bool]:
        bits = state >> self.layout.text_kind_shift
        if bits & 7 not in _CODECS and self.layout.version >= (3, 14):
            # The "interned" field before it has grown to a byte or two in newer and free-threaded builds.
            bits = next((state >> shift for shift in (16, 8) if state >> shift & 7 in _CODECS), 0)
        return bits & 7, bool(bits & 8), bool(bits & 16)

    def _long(self, address: int, size: int) -> bytes:
        return self.memory.read(address, size) if size else b""

    def data(self, address: int, limit: int) -> bytes:
        """Read a bytes object that is no longer than ``limit``."""
        layout = self.layout
        head = self.memory.read_some(address, PIECE)
        if len(head) < layout.bytes_data:
            raise Unreadable(f"no bytes at {address:#x}")
        (size,) = U64(head, layout.sized_size)
        if size > limit:
            raise Unreadable(f"{size} bytes at {address:#x} are too many")
        start = layout.bytes_data
        return head[start : start + size] if start + size <= len(head) else self._long(address + start, size)

    def items(self, address: int, limit: int) -> tuple[int, ...]:
        """Read the pointers of a tuple with at most ``limit`` items."""
        (size,) = U64(self.memory.read(address + self.layout.sized_size, 8))
        if size > limit:
            raise Unreadable(f"a tuple of {size} at {address:#x}")
        raw = self._long(address + self.layout.tuple_items, 8 * size)
        return struct.unpack(f"<{size}Q", raw)

    def type_name(self, kind: int) -> str:
        """Read the name of a type at its address."""
        name = self._static.get(kind) or self._types.get(kind)
        if name is None:
            head = self.memory.read(kind, self.layout.type_flags + 8)
            name = self.c_string(U64(head, self.layout.type_name)[0])
            # Types built into the interpreter stay where they are for ever, in every process forked from another.
            known = self._types if U64(head, self.layout.type_flags)[0] & HEAP_TYPE else self._static
            known[kind] = name
        return name

    def built_in(self, kind: int) -> str:
        """The name of a type that is the interpreter's own; empty for a class of the program."""
        name = self._static.get(kind)
        if name is None and kind not in self._types:
            self.type_name(kind)
            name = self._static.get(kind)
        return name or ""

    def c_string(self, address: int) -> str:
        """Read a name that ends in a zero byte."""
        raw, _, rest = self.memory.read_some(address, TYPE_NAME_LIMIT).partition(b"\0")
        if not rest and len(raw) == TYPE_NAME_LIMIT:
            raise Unreadable(f"no name at {address:#x}")
        return raw.decode("utf-8", "replace")


def int_shape(layout: Layout, raw: bytes) -> tuple[int, bool]:
    """How many digits of 30 bits an int has, and whether it is negative, from its first bytes."""
    if layout.version >= (3, 12):
        (tag,) = U64(raw, layout.int_size)
        return tag >> 3, tag & 3 == 2
    (signed,) = I64(raw, layout.int_size)
    return abs(signed), signed < 0
