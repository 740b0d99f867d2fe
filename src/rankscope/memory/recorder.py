"""Torch's flight recorder, read out of a process from outside: no pause, no GIL, nothing prepared.

The ring is a function-local static of libtorch whose symbol the official wheels keep. Its layout is that of
torch/csrc/distributed/c10d/FlightRecorder.hpp, compiled for x86-64 and arm64 with libstdc++; every reading checks
itself, and a ring that does not look as it should is a gap, not a guess.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..model.evidence.recorder import GroupConfig, GroupStatus, Recorder, RecorderEntry
from ..model.gap import Gap, Why
from . import cpp, elf, maps
from .buildid import SymbolCache
from .runtime import Families
from .source import Memory, ProcessMemory, Unreadable
from .tracebacks import Tracebacks

ATTEMPTS = 4
TAIL = 128  # finished entries that are read besides the unfinished ones
MOST_OPEN = 4096
SITES = 24  # the newest entries whose call sites are resolved
MOST_ENTRIES = 1 << 20

_SYMBOL = "_ZZN4c10d14FlightRecorder{}3getEvE8instance"
_LIBRARIES = {
    "libtorch_cpu.so": (_SYMBOL.format("IN3c105EventEE"),),
    "libtorch_cuda.so": (
        _SYMBOL.format("IN3c104cuda9CUDAEventEE"),
        _SYMBOL.format("IN2at4cuda9CUDAEventEE"),
        _SYMBOL.format(""),
        "_ZZN4c10d15NCCLTraceBuffer3getEvE8instance",
    ),
    "libtorch_hip.so": (_SYMBOL.format("IN2at4cuda9CUDAEventEE"), _SYMBOL.format("IN3c104cuda9CUDAEventEE")),
}
# c10::ScalarType, in its order (c10/core/ScalarType.h).
_TYPES = (
    "Byte Char Short Int Long Half Float Double ComplexHalf ComplexFloat ComplexDouble Bool QInt8 QUInt8 QInt32 "
    "BFloat16 QUInt4x2 QUInt2x4 Bits1x8 Bits2x4 Bits4x2 Bits8 Bits16 Float8_e5m2 Float8_e4m3fn Float8_e5m2fnuz "
    "Float8_e4m3fnuz UInt16 UInt32 UInt64"
).split()


@dataclass(frozen=True)
class Layout:
    """Offsets of one era. ``shift`` is how much later in an entry everything stands that follows the first number."""

    name: str
    entry: int
    shift: int
    status: int
    groups: int
    library: int


LAYOUTS = (
    Layout("2.10", entry=512, shift=8, status=160, groups=208, library=256),  # with a number of resets
    Layout("2.9", entry=504, shift=0, status=96, groups=144, library=192),
)


class UnknownLayout(Exception):
    """The ring does not look as in any torch we know."""


class Torn(Exception):
    """The ring moved on while it was read."""


@dataclass(frozen=True)
class Head:
    """The fields before the ring."""

    enabled: int
    begin: int
    end: int
    capacity: int
    next: int
    ids: int

    @classmethod
    def read(cls, memory: Memory, at: int) -> Head:
        raw = memory.read(at, 96)
        begin, end, _, capacity, following, ids = struct.unpack_from("<6Q", raw, 48)
        return cls(raw[0], begin, end, capacity, following, ids)

    def sane(self, layout: Layout) -> bool:
        size = self.end - self.begin
        return (
            self.enabled in (0, 1)
            and 0 <= size <= MOST_ENTRIES * layout.entry
            and size % layout.entry == 0
            and self.begin % 8 == 0
            and size // layout.entry <= self.capacity <= MOST_ENTRIES
            and self.ids >= size // layout.entry
        )


def read_recorder(
    pid: int,
    proc: str = "/proc",
    cache: SymbolCache | None = None,
    tail: int = TAIL,
    families: Families | None = None,
) -> Recorder | Gap:
    """The recorder of one process: all unfinished operations and the last ``tail`` finished ones.

    With ``families`` (interpreters met so far) the newest entries come with their call sites.
    """
    try:
        with ProcessMemory(proc, pid) as memory:
            sites = Tracebacks.of(proc, pid, memory, families) if families is not None else None
            return _read(memory, proc, pid, cache or SymbolCache(), tail, sites)
    except (Unreadable, UnknownLayout, struct.error) as error:
        return Gap("recorder", Why.UNKNOWN_LAYOUT, f"the flight recorder does not look as expected: {error}")
    except elf.BadElf as error:
        return Gap("recorder", Why.DAMAGED, f"libtorch cannot be read: {error}")
    except Torn:
        return Gap("recorder", Why.FAILED, "the flight recorder changed faster than it could be read")
    except OSError as error:
        return _refused(error)


def _refused(error: OSError) -> Gap:
    if isinstance(error, PermissionError):
        return Gap(
            "recorder", Why.DENIED, f"memory: {error.strerror}", hint="run as the job's user with ptrace allowed"
        )
    if isinstance(error, (ProcessLookupError, FileNotFoundError)):
        return Gap("recorder", Why.GONE, str(error))
    return Gap("recorder", Why.FAILED, str(error))


def _read(
    memory: ProcessMemory, proc: str, pid: int, cache: SymbolCache, tail: int, sites: Tracebacks | None
) -> Recorder | Gap:
    found, loaded = [], False
    for image in _images(proc, pid):
        loaded = True
        symbols = cache.find(memory, image, proc, pid, _LIBRARIES[image.name])
        for offset in symbols.values():
            (instance,) = struct.unpack("<Q", memory.read(image.start + offset, 8))
            if instance:
                found.append(_Reading(memory, instance, tail, sites).recorder())
    if not loaded:
        return Gap("recorder", Why.MISSING, "no torch is loaded")
    if not found:
        return Gap("recorder", Why.MISSING, "this torch has no flight recorder, or no process group was made yet")
    used = [recorder for recorder in found if recorder.entries] or found[:1]
    return used[0] if len(used) == 1 else joined(used)


def _images(proc: str, pid: int) -> Iterator[maps.Mapping]:
    for first, _ in maps.images(maps.parse(maps.read(proc, pid))):
        if first.name in _LIBRARIES:
            yield first


def joined(recorders: list[Recorder]) -> Recorder:
    """One recorder of two that a process keeps (gloo's and NCCL's), in order of time.

    Both number the operations of a group of one name by themselves: the smaller ring's groups get another name.
    """
    main, *others = sorted(recorders, key=lambda recorder: -len(recorder.entries))
    entries = list(main.entries)
    for other in others:
        entries.extend(replace(entry, group=f"{entry.group}/{entry.backend}", pg_id=-1) for entry in other.entries)
    entries.sort(key=lambda entry: entry.created_ns)
    first = 0 if all(recorder.entries[0].id == 0 for recorder in recorders) else 1
    numbered = tuple(replace(entry, id=first + number) for number, entry in enumerate(entries))
    return replace(main, entries=numbered)


class _Reading:
    """One ring while it is read."""

    def __init__(self, memory: Memory, at: int, tail: int, sites: Tracebacks | None = None) -> None:
        self._memory, self._at, self._tail, self._sites = memory, at, tail, sites

    def recorder(self) -> Recorder:
        for _ in range(ATTEMPTS):
            head = Head.read(self._memory, self._at)
            if not head.enabled and head.begin == head.end:
                return Recorder((), source="memory", enabled=False, read_at_ns=time.time_ns())
            layout = self._layout(head)
            try:
                made = self._once(head, layout)
            except (Torn, Unreadable, UnicodeDecodeError):
                made = None
            if made is not None and Head.read(self._memory, self._at) == head:
                return made
        raise Torn

    def _layout(self, head: Head) -> Layout:
        """The era whose entries, read so, are a row of operations."""
        for layout in LAYOUTS:
            if head.sane(layout) and self._plausible(head, layout):
                return layout
        raise UnknownLayout(f"enabled {head.enabled}, {head.end - head.begin} bytes, {head.capacity} entries at most")

    def _plausible(self, head: Head, layout: Layout) -> bool:
        try:
            return self._row(head, layout) and cpp.map_is_sane(self._memory, self._at + layout.status)
        except (Unreadable, UnicodeDecodeError):
            return False

    def _row(self, head: Head, layout: Layout) -> bool:
        """Are the first entries numbered one after the other, with names that are text?"""
        count = min(4, (head.end - head.begin) // layout.entry)
        if not count:
            return True
        raw = self._memory.read(head.begin, count * layout.entry)
        for number in range(count):
            at = number * layout.entry
            (identity,) = struct.unpack_from("<Q", raw, at)
            label = cpp.string(self._memory, raw, at + 104 + layout.shift, head.begin)
            if identity >= head.ids or not label.isprintable() or not label or max(raw[at + layout.entry - 8], 0) > 1:
                return False
        return True

    def _once(self, head: Head, layout: Layout) -> Recorder:
        raw = self._bytes(head)
        count = len(raw) // layout.entry
        # The ring turns at ``next``: what follows it is older than what precedes it.
        turn = head.next if count == head.capacity and head.next < count else 0
        order = [at * layout.entry for at in (*range(turn, count), *range(turn))]
        opened = [at for at in order if not self._over(raw, at, layout)]
        chosen = {*(order[-self._tail :] if self._tail else ()), *opened[-MOST_OPEN:]}
        read_at = time.time_ns()
        kept = [at for at in order if at in chosen]
        sited = {*opened[:1], *kept[-SITES:]}
        entries = tuple(self._entry(raw, at, head.begin, layout, at in sited) for at in kept)
        if any(after.id <= before.id for before, after in zip(entries, entries[1:])):
            raise Torn
        status = dict(self._status(layout))
        return Recorder(
            entries, status, tuple(self._groups(layout)), version=layout.name, library=self._library(layout),
            source="memory", capacity=head.capacity, read_at_ns=read_at, enabled=bool(head.enabled),
        )  # fmt: skip

    def _bytes(self, head: Head) -> bytes:
        step = 8 << 20
        starts = range(head.begin, head.end, step)
        return b"".join(self._memory.read(start, min(step, head.end - start)) for start in starts)

    def _over(self, raw: bytes, at: int, layout: Layout) -> bool:
        return bool(raw[at + layout.entry - 8] or raw[at + 224 + layout.shift])

    def _entry(self, raw: bytes, at: int, begin: int, layout: Layout, sited: bool) -> RecorderEntry:
        (identity,) = struct.unpack_from("<Q", raw, at)
        at_id, at = at, at + layout.shift
        memory = self._memory
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
            done=self._over(raw, at_id, layout),
            is_p2p=bool(raw[at + 184]) or peer is not None,
            input_sizes=_shapes(inputs, sizes),
            output_sizes=_shapes(outputs, sizes),
            input_dtypes=self._dtypes(raw, at + 280),
            output_dtypes=self._dtypes(raw, at + 352),
            created_ns=created,
            started_ns=started if has_started else 0,
            completed_ns=completed if has_completed else 0,
            timeout_ms=timeout,
            thread=cpp.string(memory, raw, at + 464, begin),
            frames=self._sites.frames(struct.unpack_from("<Q", raw, at + 136)[0]) if sited and self._sites else (),
        )

    def _dtypes(self, raw: bytes, at: int) -> tuple[str, ...]:
        begin, end = struct.unpack_from("<QQ", raw, at)
        if not 0 <= end - begin <= 4096:
            raise Torn
        numbers = self._memory.read(begin, end - begin) if end > begin else b""
        return tuple(_TYPES[number] if number < len(_TYPES) else f"type{number}" for number in numbers)

    def _status(self, layout: Layout) -> Iterator[tuple[str, GroupStatus]]:
        for node in cpp.map_nodes(self._memory, self._at + layout.status):
            key, pointer = struct.unpack("<QQ", self._memory.read(node, 16))
            yield str(key), GroupStatus(*struct.unpack("<qqq", self._memory.read(pointer, 24)))

    def _groups(self, layout: Layout) -> Iterator[GroupConfig]:
        for node in cpp.map_nodes(self._memory, self._at + layout.groups):
            raw = self._memory.read(node, 88)
            begin, end = struct.unpack_from("<QQ", raw, 64)
            if not 0 <= end - begin <= 8 << 20:
                raise Torn
            ranks = self._memory.read(begin, end - begin) if end > begin else b""
            yield GroupConfig(
                name=cpp.string(self._memory, raw, 32, node),
                desc=cpp.string(self._memory, raw, 0, node),
                ranks=struct.unpack(f"<{len(ranks) // 8}Q", ranks),
            )

    def _library(self, layout: Layout) -> str:
        at = self._at + layout.library
        return cpp.string(self._memory, self._memory.read(at, 32), 0, at)


def _shapes(dims: tuple[int, ...], sizes: Iterator[int]) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(next(sizes) for _ in range(_checked(count))) for count in dims)
    except (StopIteration, RuntimeError):
        raise Torn from None


def _checked(count: int) -> int:
    if not 0 <= count <= 64:
        raise Torn
    return count


def label_parts(label: str) -> tuple[str, str, tuple[int, int] | None]:
    """``nccl:recv 3<-0`` as backend, operation and (source, destination) in ranks of the group."""
    backend, colon, op = label.partition(":")
    if not colon:
        backend, op = "", label
    name, _, pair = op.partition(" ")
    for arrow in ("->", "<-"):
        left, found, right = pair.partition(arrow)
        if found and left.isdigit() and right.isdigit():
            ends = (int(left), int(right))
            return backend, name, ends if arrow == "->" else ends[::-1]
    return backend, op, None
