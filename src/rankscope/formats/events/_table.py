"""Events by table: a name, and a pattern whose named groups are the fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...model.evidence.events import Event, Value
from ...model.patterns import regex
from ..lines import Line

# Digits that are a name and no number.
_WORDS = "pg pg_id bus_id comm comm_id pci version cuda key code addr peer text message nccl_version name"
_NAMES = frozenset(_WORDS.split())
_TEXT_LIMIT = 2000

Fields = dict[str, Value]
Shape = Callable[[re.Match[str], Fields], Fields]


@dataclass(frozen=True)
class Pattern:
    """``event`` is said by lines in which ``regex`` is found; ``shape`` completes the fields."""

    event: str
    regex: re.Pattern[str]
    shape: Shape | None = None
    last: bool = True  # no later pattern of the table can say more about the line


def pattern(event: str, written: str, shape: Shape | None = None, last: bool = True, flags: int = 0) -> Pattern:
    """A row of the table."""
    return Pattern(event, regex(written, flags), shape, last)


def fields_of(found: re.Match[str]) -> Fields:
    """The named groups that took part, numbers as numbers."""
    fields: Fields = {}
    for name, value in found.groupdict().items():
        if value is None:
            continue
        fields[name] = int(value) if name not in _NAMES and re.fullmatch(r"-?\d{1,18}", value) else value
    return fields


def event(name: str, line: Line, fields: Mapping[str, Value]) -> Event:
    """An event of one line; rank, host and pid of the message outrank those of the prefix."""
    rest = dict(fields)
    rank, host, pid = rest.pop("rank", None), rest.pop("host", None), rest.pop("pid", None)
    return Event(
        name, line=line.number, rank=rank if isinstance(rank, int) else _rank(line),
        host=host if isinstance(host, str) else line.host, pid=pid if isinstance(pid, int) else line.pid,
        at_s=line.at_s, text=line.text.strip()[:_TEXT_LIMIT], fields=rest,
    )  # fmt: skip


def _rank(line: Line) -> int | None:
    # torchrun's [default3] is the rank on its node; it is the world rank only where nothing else is said.
    return line.rank if line.rank is not None else line.local_rank


class TableReader:
    """Looks each line up in a table."""

    busy = False

    def __init__(self, table: Iterable[Pattern]) -> None:
        self._table = tuple(table)

    def feed(self, line: Line) -> Iterator[Event]:
        for row in self._table:
            found = row.regex.search(line.text)
            if found is None:
                continue
            fields = fields_of(found)
            yield event(row.event, line, row.shape(found, fields) if row.shape else fields)
            if row.last:
                return

    def close(self) -> Iterable[Event]:
        return ()


def ints(text: str) -> tuple[int, ...]:
    """The numbers of a list such as ``[1, 2]`` or ``0,3``."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:100_000])
