"""Stacks as sampling profilers and c10's errors print them: ``function (in library)``, ``frame #2: function + 0x10 (…)``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.evidence.stacks import Frame
from ..model.patterns import regex
from .building import Building
from .lines import Line
from .records import Record, read_all

NAME = "native sample"

# Root first, as ``sample`` and perf's callers print it.
_SAMPLE = regex(r"^[\s+!:|]*(?:\d+ +)?(?P<name>[^\s+!:|].*?)\s{1,20}\(in (?P<library>[\w.+/-]+)\)")
# Deepest first; https://github.com/pytorch/pytorch/blob/main/c10/util/Backtrace.cpp writes it.
_C10 = regex(r"^\s*frame #\d+: (?P<name>\S.*?) \+ 0x[0-9a-f]+ \(0x[0-9a-f]+ in (?P<library>[^)]+)\)")


class Reader:
    """Takes lines and yields a dump per run of frames."""

    def __init__(self) -> None:
        self._open: Building | None = None

    def feed(self, line: Line) -> Iterator[Record]:
        c10 = _C10.match(line.text)
        found = c10 or _SAMPLE.match(line.text)
        if found:
            engine = "c10 backtrace" if c10 else NAME
            if self._open is not None and self._open.engine != engine:
                yield from self.close()
            self._open = self._open or Building(engine, line, deepest_first=bool(c10), native=True)
            self._open.add(Frame(found["name"], "", 0, found["library"].rsplit("/", 1)[-1]))
        elif line.text.strip() not in ("...", "…"):
            yield from self.close()

    @property
    def busy(self) -> bool:
        return self._open is not None

    @property
    def idle(self) -> bool:
        return self._open is None

    def close(self) -> Iterable[Record]:
        done, self._open = self._open, None
        return (done.done(),) if done is not None else ()


def hears(text: str) -> bool:
    """Whether a line means anything to an idle reader."""
    return any(pattern.match(text) for pattern in (_C10, _SAMPLE))


def read(text: str) -> Iterator[Record]:
    """All stacks of a text."""
    return read_all(Reader(), text)
