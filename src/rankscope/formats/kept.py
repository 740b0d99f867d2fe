"""What of a long text is kept line by line, so that rules can read what no reader knows: what a person would look at.

That is its head, where versions and settings stand, its tail, where it stands still or fails, and of the lines in between that
some reader may know a few of each kind.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import TypeVar

from ..model.patterns import regex

HEAD_BYTES, TAIL_BYTES = 32 << 10, 256 << 10
_HEAD_LINES, _TAIL_LINES = 150, 1200
_OF_A_KIND, _BETWEEN = 3, 1000
_KIND_CHARS = 100
_NUMBER = regex(r"0x[0-9a-f]+|\d+")
_Line = TypeVar("_Line")


class Ends:
    """The first and the last bytes of a stream that goes by, and how many lines it has."""

    def __init__(self) -> None:
        self._head, self._newlines, self._size = b"", 0, 0
        self._pieces: deque[bytes] = deque()  # the last, of which all but the first hold less than a tail
        self._held = 0

    def see(self, piece: bytes) -> None:
        """The next piece of the stream."""
        self._newlines += piece.count(b"\n")
        self._size += len(piece)
        if len(self._head) < HEAD_BYTES:
            self._head += piece[: HEAD_BYTES - len(self._head)]
        self._pieces.append(piece)
        self._held += len(piece)
        while self._held - len(self._pieces[0]) >= TAIL_BYTES:
            self._held -= len(self._pieces.popleft())

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbered whole lines of the head and the tail, each once."""
        head = self._head.decode("utf-8", "replace").split("\n")[:_HEAD_LINES]
        if self._size > len(self._head):
            head = head[:-1]  # it may be cut
        yield from enumerate(head, 1)
        last = b"".join(self._pieces)[-TAIL_BYTES:]
        tail = last.decode("utf-8", "replace").split("\n")
        whole = list(enumerate(tail, self._newlines + 2 - len(tail)))
        if self._size > len(last):
            whole = whole[1:]
        yield from (one for one in whole[-_TAIL_LINES:] if one[0] > len(head))


class Between:
    """Lines that a reader may know: a few of each kind, where numbers make no kind of their own."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()
        self._lines: list[tuple[int, str]] = []

    def see(self, number: int, raw: str) -> None:
        """One more of them."""
        if len(self._lines) >= _BETWEEN:
            return
        kind = _NUMBER.sub("0", raw[:_KIND_CHARS])
        self._kinds[kind] += 1
        if self._kinds[kind] <= _OF_A_KIND:
            self._lines.append((number, raw))

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are kept, numbered."""
        yield from self._lines


def ends_of(lines: Sequence[_Line]) -> list[_Line]:
    """Head and tail of lines that are held already, each once."""
    return [*lines[:_HEAD_LINES], *lines[max(_HEAD_LINES, len(lines) - _TAIL_LINES) :]]


def joined(ends: Ends, between: Between) -> list[tuple[int, str]]:
    """All that is kept, in order, each line once."""
    return sorted((dict(between.lines()) | dict(ends.lines())).items())
