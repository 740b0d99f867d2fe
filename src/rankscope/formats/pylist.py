"""``py-list`` of libpython.py in gdb: numbered source lines, the current one marked with ``>``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.evidence.events import Event
from ..model.patterns import regex
from .lines import Line
from .records import Record, read_all

NAME = "gdb py-list"

_LINE = regex(r"^(?:\(gdb\) )? {0,6}(?P<here>>)? {0,6}(?P<number>\d{1,6}) {4}(?P<source>.*)$")


class Reader:
    """Lines whose numbers follow each other belong to one list; it counts when one of them is marked."""

    busy = False

    def __init__(self) -> None:
        self._last = 0
        self._marked: Event | None = None
        self._length = 0

    def feed(self, line: Line) -> Iterator[Record]:
        # A prefix of a quoting collector is the very mark: the raw line keeps it, the cleaned one has lost it.
        text = (">" if line.source.endswith(">") else "") + line.text
        found = _LINE.match(text)
        if found is None or int(found["number"]) != self._last + 1:
            yield from self.close()
        if found is None:
            return
        self._last, self._length = int(found["number"]), self._length + 1
        if found["here"] and self._marked is None:
            source = found["source"].strip()[:500]
            self._marked = Event(
                "python.source_line", line=line.number, rank=line.rank, pid=line.pid, text=source,
                fields={"number": self._last, "source": source},
            )  # fmt: skip

    @property
    def idle(self) -> bool:
        return self._last == 0 and self._marked is None and self._length == 0

    def close(self) -> Iterable[Record]:
        marked, length = self._marked, self._length
        self._last, self._marked, self._length = 0, None, 0
        return (marked,) if marked is not None and length > 1 else ()


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(_LINE.match(one) for one in (text, f">{text}"))


def read(text: str) -> Iterator[Record]:
    """The current line of each list."""
    return read_all(Reader(), text)
