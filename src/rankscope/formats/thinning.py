"""Of a long log, the lines that need not be read: each looks like many before it, of which none said anything new.

Lines look alike where they differ in numbers alone. One that says nothing to any reader is read some dozen times; one that makes
events, until there are as many of their kind as are kept. The end of the log is read line by line, and so is whatever stands in
the middle of a message or of a stack.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from ..model.evidence.events import Event
from .records import LeftOut, Record

# Beyond this a file says the same again and again; what is left out is told as a gap.
EVENTS_PER_KIND = 5000
# Of what is worth reading, so much at the end is read whatever it looks like.
TAIL_BYTES = 512 << 10
# After so many that are alike, the next is not read.
_ENOUGH = 50
# Shapes that are remembered, and how long a line may be that has one.
_MOST, _LONGEST = 8192, 2000
# A message that is still open after so many lines was cut.
_PATIENCE = 2000
_NUMBERS = b"0123456789abcdef"  # of any base: NCCL counts in hexadecimal numbers


class Thinning:
    """Lets lines by until enough of their shape were read; ``learn`` is told what the last one was good for."""

    def __init__(self) -> None:
        self._read: Counter[bytes] = Counter()
        self._known: dict[bytes, tuple[str, ...]] = {}  # shapes that need not be read: the events of such a line
        self._needed: set[bytes] = set()  # those that begin something
        self._last: bytes | None = None  # the shape of the line that is being read, where something can be learned
        self._open_for = 0  # lines
        self._events: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def lines(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The lines to read, of blocks that end where a line does."""
        held: deque[bytes] = deque()
        size = 0
        for block in blocks:
            held.append(block)
            size += len(block)
            while size - len(held[0]) >= TAIL_BYTES:
                size -= len(held[0])
                yield from self._thinned(_split(held.popleft()))
        self._last = None
        for block in held:
            yield from _split(block)

    def _thinned(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        known, left_out = self._known, self._left_out
        for line in lines:
            shape = line.translate(None, _NUMBERS)
            if shape in known and not 0 < self._open_for < _PATIENCE:
                for name in known[shape]:
                    left_out[name] += 1
                continue
            self._last = None if self._open_for or len(line) > _LONGEST else shape
            yield line

    def learn(self, records: list[Record], began: bool, is_open: bool) -> None:
        """What came of the line that was read: its records, whether it changes what the next lines mean, and whether
        something is open behind it."""
        events = [one.event for one in records if isinstance(one, Event)]
        self._events.update(events)
        shape = self._last
        self._open_for = self._open_for + 1 if is_open else 0
        if shape is None or shape in self._needed:
            return
        if began or is_open or len(events) < len(records):
            self._needed.add(shape)
            return
        self._read[shape] += 1
        full = all(self._events[name] >= EVENTS_PER_KIND for name in events)
        if full and self._read[shape] >= _ENOUGH and len(self._known) < _MOST:
            self._known[shape] = tuple(events)
        elif len(self._read) > _MOST:
            self._read.clear()

    def left_out(self) -> Iterator[LeftOut]:
        """How many events were not made, by their names."""
        for name, count in self._left_out.items():
            yield LeftOut(name, count)


def _split(block: bytes) -> list[bytes]:
    return block.removesuffix(b"\n").split(b"\n")
