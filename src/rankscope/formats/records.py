"""What readers of text hand on: threads of somebody's dump, and the interface that all line readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, Union

from ..model.evidence.events import Event
from ..model.evidence.stacks import PythonThread
from ..model.gap import Gap
from ..model.ranks import RankSet
from .lines import Line, lines_of


@dataclass(frozen=True)
class Dump:
    """One thread of a dump, and what the dump says of its process. ``native`` marks stacks with C frames.

    One that is the same of several ranks is told once, with ``ranks``: a line may name a hundred thousand.
    """

    thread: PythonThread
    engine: str
    line: int = 0
    native: bool = False
    pid: int | None = None
    rank: int | None = None
    ranks: RankSet = field(default_factory=RankSet)
    host: str | None = None
    python: str | None = None
    command: str | None = None
    order: int = 0  # which dump of the file it belongs to, when several run together
    first: bool = False  # it is the thread that started its process
    local_rank: int | None = None  # by its lines' prefix
    main: str | None = None  # its main thread, where one text shows several processes without numbers


@dataclass(frozen=True)
class LeftOut:
    """How many events of a name were not made, since so many lines said the same."""

    event: str
    count: int


class Quoted(Enum):
    """What a dump shows below a frame: words of the program, which nobody said."""

    SOURCE = "source"
    VARIABLE = "variable"


Record = Union[Dump, Event, Gap]


class LineReader(Protocol):
    """Takes lines one at a time and yields records as soon as they are complete; a gap without a name is of the file.

    ``busy`` while the next lines may belong to what it has begun, whatever they say: of a long text it is shown no others, and
    where lines were left out it is closed.
    """

    @property
    def busy(self) -> bool: ...

    def feed(self, line: Line) -> Iterable[Record]: ...

    def close(self) -> Iterable[Record]: ...


class DumpReader(LineReader, Protocol):
    """A reader of dumps. While it is ``idle``, a line that its module does not hear (``hears(text)``) leaves it as it is."""

    @property
    def idle(self) -> bool: ...


def read_all(reader: LineReader, text: str) -> Iterator[Record]:
    """All records of one reader over a whole text."""
    for line in lines_of(text):
        yield from reader.feed(line)
    yield from reader.close()
