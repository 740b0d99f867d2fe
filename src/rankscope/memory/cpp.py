"""Strings, small vectors and maps of C++ programs in foreign memory (libstdc++ with its new string, and c10)."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .source import Memory, Unreadable

TEXT_LIMIT = 4096
MAP_LIMIT = 65536


def string(memory: Memory, raw: bytes, at: int, base: int) -> str:
    """A std::string whose bytes are in ``raw`` at ``at``; ``raw`` was read from ``base``. Short ones lie within it."""
    pointer, length = struct.unpack_from("<QQ", raw, at)
    if length > TEXT_LIMIT:
        raise Unreadable(f"a string of {length} bytes")
    if pointer == base + at + 16:
        if length > 15:
            raise Unreadable("a long string where a short one lies")
        return raw[at + 16 : at + 16 + length].decode()
    return memory.read(pointer, length).decode() if length else ""


def small_vector(memory: Memory, raw: bytes, at: int, base: int) -> tuple[int, ...]:
    """A c10::SmallVector<int64_t>: pointer, size and capacity of 32 bits, then room for a few numbers."""
    pointer, size, capacity = struct.unpack_from("<QII", raw, at)
    if size > capacity or size > 1 << 18:
        raise Unreadable(f"a vector of {size} numbers")
    if not size:
        return ()
    if pointer == base + at + 16:
        return struct.unpack_from(f"<{size}q", raw, at + 16)
    return struct.unpack(f"<{size}q", memory.read(pointer, 8 * size))


def map_is_sane(memory: Memory, at: int) -> bool:
    """Does a std::map (red-black tree) lie here: a root exactly when it has entries, and ends that fit?"""
    _, root, left, right, count = struct.unpack("<5Q", memory.read(at + 8, 40))
    if count == 0:
        return bool(root == 0 and left == right == at + 8)
    return bool(0 < count <= MAP_LIMIT and root and struct.unpack("<Q", memory.read(root + 8, 8))[0] == at + 8)


def map_nodes(memory: Memory, at: int) -> Iterator[int]:
    """Addresses of the values of a std::map, in order of their keys."""
    (root,) = struct.unpack("<Q", memory.read(at + 16, 8))
    stack: list[int] = []
    seen = 0
    while root or stack:
        while root:
            stack.append(root)
            seen += 1
            if seen > MAP_LIMIT:
                raise Unreadable("a map without end")
            (root,) = struct.unpack("<Q", memory.read(root + 16, 8))
        node = stack.pop()
        yield node + 32
        (root,) = struct.unpack("<Q", memory.read(node + 24, 8))
