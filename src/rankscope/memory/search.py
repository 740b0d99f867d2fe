"""Where an interpreter lies that has no symbols any more: found by what it looks like in its writable memory.

A static build, stripped, names nothing. From 3.13 on ``_PyRuntime`` begins with a word to be looked for. Before, it holds
the newest interpreter and, right behind, the main one, which are the same but for a program with subinterpreters; that
interpreter leads to thread states which lead back to it. Whether the threads are those of the process is for the caller.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from .layouts import Layout
from .layouts.own import COOKIE
from .maps import Mapping
from .objects import U64
from .source import Memory, Unreadable

# CPython's own data is well below a megabyte; a program that embeds it may have far more, and only some of it is searched.
DATA_LIMIT = 16 << 20
_PIECE = 1 << 20
CANDIDATES_LIMIT = 4096


def data_of(parts: Sequence[Mapping], mappings: Sequence[Mapping]) -> list[Mapping]:
    """The writable mappings of an image, with the nameless one behind them that holds what begins as zero."""
    ends = {part.end for part in parts}
    return [
        each for each in (*parts, *(m for m in mappings if m.start in ends and not m.inode)) if "w" in each.permissions
    ]


def marked(memory: Memory, data: Sequence[Mapping]) -> Iterator[int]:
    """Yield the addresses of what begins like a ``_PyRuntime`` of 3.13 or later."""
    for start, raw in _pieces(memory, data):
        at = raw.find(COOKIE)
        while at >= 0:
            if at % 8 == 0:
                yield start + at
            at = raw.find(COOKIE, at + 1)


def shaped(memory: Memory, data: Sequence[Mapping], mappings: Sequence[Mapping], layout: Layout) -> Iterator[int]:
    """Yield the addresses of what looks like a ``_PyRuntime`` of this older version."""
    homes = [(each.start, each.end) for each in mappings if "w" in each.permissions]
    tried = 0
    for start, raw in _pieces(memory, data):
        words = struct.unpack_from(f"<{len(raw) // 8}Q", raw)
        for place, (newest, main) in enumerate(zip(words, words[1:])):
            if newest != main or newest < 4096 or newest % 8 or not any(low <= newest < high for low, high in homes):
                continue
            tried += 1
            if tried > CANDIDATES_LIMIT:
                return
            if _leads_back(memory, newest, layout):
                yield start + 8 * place - layout.runtime_head


def _leads_back(memory: Memory, interpreter: int, layout: Layout) -> bool:
    """Whether the first thread state of an interpreter says that it belongs to this one."""
    try:
        thread = U64(memory.read(interpreter + layout.interp_threads, 8))[0]
        return bool(U64(memory.read(thread + layout.thread_interp, 8))[0] == interpreter)
    except Unreadable:
        return False


def _pieces(memory: Memory, data: Sequence[Mapping]) -> Iterator[tuple[int, bytes]]:
    left = DATA_LIMIT
    for each in data:
        at = each.start
        while at < each.end and left > 0:
            try:
                raw = memory.read_some(at, min(each.end - at, _PIECE, left))
            except Unreadable:
                break
            yield at, raw
            # Pieces overlap by a word, so that no pair of words is cut in two.
            at, left = at + max(len(raw) - 8, 8), left - len(raw)
