"""What readers of text hand on: threads of somebody's dump, and the interface that all line readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, Union

from ..model.evidence.events import Event
from ..model.evidence.stacks import PythonThread
from .lines import Line, lines_of


@dataclass(frozen=True)
class Dump:
    """One thread of a dump, and what the dump says of its process. ``native`` marks stacks with C frames."""

    thread: PythonThread
    engine: str
    line: int = 0
    native: bool = False
    pid: int | None = None
    rank: int | None = None
    host: str | None = None
    python: str | None = None
    command: str | None = None
    order: int = 0  # which dump of the file it belongs to, when several run together
    first: bool = False  # it is the thread that started its process


Record = Union[Dump, Event]


class LineReader(Protocol):
    """Takes lines one at a time and yields records as soon as they are complete."""

    def feed(self, line: Line) -> Iterable[Record]: ...

    def close(self) -> Iterable[Record]: ...


def read_all(reader: LineReader, text: str) -> Iterator[Record]:
    """All records of one reader over a whole text."""
    for line in lines_of(text):
        yield from reader.feed(line)
    yield from reader.close()
