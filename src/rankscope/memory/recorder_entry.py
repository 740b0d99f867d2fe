"""One entry of the flight recorder's ring, from the bytes of its C++ structure."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.evidence.recorder import RecorderEntry, label_parts
from . import cpp
from .source import Memory
from .tracebacks import Tracebacks

# c10::ScalarType, in its order (c10/core/ScalarType.h).
_TYPES = (
    "Byte Char Short Int Long Half Float Double ComplexHalf ComplexFloat ComplexDouble Bool QInt8 QUInt8 QInt32 "
    "BFloat16 QUInt4x2 QUInt2x4 Bits1x8 Bits2x4 Bits4x2 Bits8 Bits16 Float8_e5m2 Float8_e4m3fn Float8_e5m2fnuz "
    "Float8_e4m3fnuz UInt16 UInt32 UInt64"
).split()


@dataclass(frozen=True)
class Layout:
    """Offsets of one era. ``shift`` is how much later in an entry everything stands that follows the first number;
    ``library`` and ``thread`` are 0 where neither the library's version nor the thread's name is kept."""

    name: str
    entry: int
    shift: int
    status: int
    groups: int
    library: int = 0
    thread: int = 464


LAYOUTS = (
    Layout("2.10", entry=512, shift=8, status=160, groups=208, library=256),  # with a number of resets
    Layout("2.9", entry=504, shift=0, status=96, groups=144, library=192),
    Layout("2.4", entry=464, shift=0, status=96, groups=144, thread=0),  # torch 2.7: NCCL's recorder alone
)


class Torn(Exception):
    """The ring moved on while it was read."""


def is_row(memory: Memory, raw: bytes, begin: int, ids: int, layout: Layout) -> bool:
    """Are these entries, of which ``ids`` were made, numbered below that and called by names that are text?"""
    for at in range(0, len(raw), layout.entry):
        (identity,) = struct.unpack_from("<Q", raw, at)
        label = cpp.string(memory, raw, at + 104 + layout.shift, begin)
        if identity >= ids or not label.isprintable() or not label or raw[at + layout.entry - 8] > 1:
            return False
    return True


def over(raw: bytes, at: int, layout: Layout) -> bool:
    """Is the operation retired, or was its end seen?"""
    return bool(raw[at + layout.entry - 8] or raw[at + 224 + layout.shift])


def with_their_batch(raw: bytes, order: Sequence[int], layout: Layout) -> set[int]:
    """The members of batches that are over, of entries in order of time: torch writes one more entry with their numbers
    behind them, which alone is ever marked (ProcessGroupNCCL::endCoalescing)."""
    found, ended = set(), set()
    first = next((place for place, at in enumerate(order) if not over(raw, at, layout)), len(order))
    for at in reversed(order[first:]):
        key = struct.unpack_from("<Q", raw, at + 8 + layout.shift) + struct.unpack_from(
            "<QQ", raw, at + 80 + layout.shift
        )
        if over(raw, at, layout):
            ended.add(key)
        elif key in ended:
            found.add(at)
    return found


def entry(memory: Memory, raw: bytes, at: int, begin: int, layout: Layout, sites: Tracebacks | None) -> RecorderEntry:
    """The entry at an offset of the ring's bytes, which were read from ``begin``; with its call site if asked for."""
    (identity,) = struct.unpack_from("<Q", raw, at)
    ended, at = at, at + layout.shift
    (pg_id,) = struct.unpack_from("<Q", raw, at + 8)
    seq, p2p_seq, op_id = struct.unpack_from("<QQQ", raw, at + 80)
    created, timeout = struct.unpack_from("<qq", raw, at + 168)
    backend, op, peer = label_parts(cpp.string(memory, raw, at + 104, begin))
    started, has_started = struct.unpack_from("<qB", raw, at + 200)
    completed, has_completed = struct.unpack_from("<qB", raw, at + 216)
    inputs = cpp.small_vector(memory, raw, at + 232, begin)
    outputs = cpp.small_vector(memory, raw, at + 304, begin)
    sizes = iter(cpp.small_vector(memory, raw, at + 376, begin))
    return RecorderEntry(
        id=identity,
        group=cpp.string(memory, raw, at + 48, begin),
        desc=cpp.string(memory, raw, at + 16, begin),
        seq=seq,
        op=op,
        p2p_seq=p2p_seq,
        op_id=op_id,
        pg_id=pg_id,
        backend=backend,
        peer=peer,
        state="completed" if has_completed else "started" if has_started else "scheduled",
        done=over(raw, ended, layout),
        is_p2p=bool(raw[at + 184]) or peer is not None,
        input_sizes=_shapes(inputs, sizes),
        output_sizes=_shapes(outputs, sizes),
        input_dtypes=_dtypes(memory, raw, at + 280),
        output_dtypes=_dtypes(memory, raw, at + 352),
        created_ns=created,
        started_ns=started if has_started else 0,
        completed_ns=completed if has_completed else 0,
        timeout_ms=timeout,
        thread=cpp.string(memory, raw, at + layout.thread, begin) if layout.thread else "",
        frames=sites.frames(struct.unpack_from("<Q", raw, at + 136)[0]) if sites else (),
    )


def _dtypes(memory: Memory, raw: bytes, at: int) -> tuple[str, ...]:
    begin, end = struct.unpack_from("<QQ", raw, at)
    if not 0 <= end - begin <= 4096:
        raise Torn
    numbers = memory.read(begin, end - begin) if end > begin else b""
    return tuple(_TYPES[number] if number < len(_TYPES) else f"type{number}" for number in numbers)


def _shapes(dims: tuple[int, ...], sizes: Iterator[int]) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(next(sizes) for _ in range(_checked(count))) for count in dims)
    except (StopIteration, RuntimeError):
        raise Torn from None


def _checked(count: int) -> int:
    if not 0 <= count <= 64:
        raise Torn
    return count
