"""The ring of torch's flight recorder in foreign memory: which entries to read, and whether they held still meanwhile.

Its layout is that of torch/csrc/distributed/c10d/FlightRecorder.hpp, compiled for x86-64 and arm64 with libstdc++; every
reading checks itself, and a ring that does not look as it should is a gap, not a guess.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..model.evidence.recorder import GroupConfig, GroupStatus, Recorder
from . import cpp
from .recorder_entry import LAYOUTS, Layout, Torn, entry, is_row, over, with_their_batch
from .source import Memory, Unreadable
from .tracebacks import Tracebacks

ATTEMPTS = 4
MOST_OPEN = 4096
SITES = 24  # the newest entries whose call sites are resolved
MOST_ENTRIES = 1 << 20


class UnknownRing(Exception):
    """The ring does not look as in any torch we know."""


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


class Reading:
    """One ring while it is read."""

    def __init__(self, memory: Memory, at: int, tail: int, sites: Tracebacks | None = None) -> None:
        self._memory, self._at, self._tail, self._sites = memory, at, tail, sites

    def recorder(self) -> Recorder:
        heads = set()
        for _ in range(ATTEMPTS):
            head = Head.read(self._memory, self._at)
            heads.add(head)
            if not head.enabled and head.begin == head.end:
                return Recorder((), source="memory", enabled=False, read_at_ns=time.time_ns())
            layout = self._layout(head)
            try:
                made = self._once(head, layout)
            except (Torn, Unreadable, UnicodeDecodeError):
                made = None
            if made is not None and Head.read(self._memory, self._at) == head:
                return made
        if len(heads) == 1 and made is None:
            raise UnknownRing("it stands still and yet makes no sense")
        raise Torn

    def _layout(self, head: Head) -> Layout:
        """The era whose entries, read so, are a row of operations."""
        for layout in LAYOUTS:
            if head.sane(layout) and self._plausible(head, layout):
                return layout
        raise UnknownRing(f"enabled {head.enabled}, {head.end - head.begin} bytes, {head.capacity} entries at most")

    def _plausible(self, head: Head, layout: Layout) -> bool:
        try:
            first = self._bytes(head, 4 * layout.entry)
            row = is_row(self._memory, first, head.begin, head.ids, layout)
            return row and cpp.map_is_sane(self._memory, self._at + layout.status)
        except (Unreadable, UnicodeDecodeError):
            return False

    def _once(self, head: Head, layout: Layout) -> Recorder:
        raw = self._bytes(head, head.end - head.begin)
        count = len(raw) // layout.entry
        # The ring turns at ``next``: what follows it is older than what precedes it.
        turn = head.next if count == head.capacity and head.next < count else 0
        order = [at * layout.entry for at in (*range(turn, count), *range(turn))]
        settled = with_their_batch(raw, order, layout)
        opened = [at for at in order if not over(raw, at, layout) and at not in settled]
        chosen = {*(order[-self._tail :] if self._tail else ()), *opened[-MOST_OPEN:]}
        read_at = time.time_ns()
        kept = [at for at in order if at in chosen]
        sited = {*opened[:1], *kept[-SITES:]}
        entries = tuple(
            replace(one, done=one.done or at in settled)
            for at in kept
            for one in [entry(self._memory, raw, at, head.begin, layout, self._sites if at in sited else None)]
        )
        if any(after.id <= before.id for before, after in zip(entries, entries[1:])):
            raise Torn
        status = dict(self._status(layout))
        return Recorder(
            entries, status, tuple(self._groups(layout)), version=layout.name, library=self._library(layout),
            source="memory", capacity=head.capacity, read_at_ns=read_at, enabled=bool(head.enabled),
        )  # fmt: skip

    def _bytes(self, head: Head, most: int) -> bytes:
        """The entries, or as many bytes of the first as asked for."""
        step, end = 8 << 20, min(head.end, head.begin + most)
        return b"".join(self._memory.read(at, min(step, end - at)) for at in range(head.begin, end, step))

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
        if not layout.library:
            return ""
        at = self._at + layout.library
        return cpp.string(self._memory, self._memory.read(at, 32), 0, at)
