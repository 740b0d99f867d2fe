"""The chain of frames of one thread, as the interpreter links them; nothing is decoded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .layouts import Layout
from .objects import I32, U64
from .source import PAGE, Memory, Unreadable

# Python's own recursion limit is 1,000; programs raise it, but a chain longer than this is a ring.
FRAMES_LIMIT = 50_000
# Of one process, so that many rings cost no more than one.
ALL_FRAMES_LIMIT = 500_000
# Owners from here on are the interpreter's own marks between calls from C, not Python frames.
OWNER_SHIM = 3


class RawFrame(NamedTuple):
    """One frame: where it lies, its code object, and the instruction as the interpreter keeps it."""

    address: int
    code: int
    instruction: int


@dataclass(frozen=True)
class Chain:
    """The frames of a thread, innermost first; ``whole`` when the walk came to its regular end."""

    frames: tuple[RawFrame, ...]
    whole: bool


def top(memory: Memory, layout: Layout, pointer: int) -> int:
    """The innermost frame of a thread, from what its thread state points to."""
    if layout.cframe_frame < 0 or not pointer:
        return pointer
    return int(U64(memory.read(pointer + layout.cframe_frame, 8))[0])


def walk(memory: Memory, layout: Layout, address: int, limit: int = FRAMES_LIMIT) -> Chain:
    """Follow the frames from the innermost one outwards, at most ``limit`` of them."""
    out: list[RawFrame] = []
    try:
        whole = (_on_heap if layout.frame_owner < 0 else _on_stack)(memory, layout, address, out, limit)
    except Unreadable:
        whole = False
    return Chain(tuple(out), whole)


def _on_heap(memory: Memory, layout: Layout, address: int, out: list[RawFrame], limit: int) -> bool:
    """Up to 3.10 every frame is an object of its own."""
    size, back, code, instruction = (
        layout.frame_size, layout.frame_back, layout.frame_code, layout.frame_instruction,
    )  # fmt: skip
    for _ in range(limit):
        if not address:
            return True
        raw = memory.read(address, size)
        out.append(RawFrame(address, U64(raw, code)[0], I32(raw, instruction)[0]))
        (address,) = U64(raw, back)
    return False


def _on_stack(memory: Memory, layout: Layout, address: int, out: list[RawFrame], limit: int) -> bool:
    """From 3.11 the frames of a thread lie behind one another in its own chunks, so a page brings several."""
    size, back, code, instruction, owner = (
        layout.frame_size, layout.frame_back, layout.frame_code, layout.frame_instruction, layout.frame_owner,
    )  # fmt: skip
    start, page = 0, b""
    for _ in range(limit):
        if not address:
            return True
        at = address - start
        if at < 0 or at + size > len(page):
            start = address & -PAGE
            at = address - start
            page = memory.read_some(start, max(PAGE, at + size))
            if at + size > len(page):
                return False
        if page[at + owner] < OWNER_SHIM:
            # Since 3.14 the lowest bits of such pointers are marks of the reference count.
            out.append(RawFrame(address, U64(page, at + code)[0] & -8, U64(page, at + instruction)[0]))
        (address,) = U64(page, at + back)
    return False
