"""What a log or a text of another tool says, line by line, in one vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Union

from . import evidence

Value = Union[str, int, float, bool, None, tuple[int, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Event:
    """One thing a text says. ``event`` is a dotted name (``torch.watchdog_timeout``); ``line`` is 1-based.

    ``at_s`` is the time the line claims, in seconds since the epoch; None where it claims none.
    """

    event: str
    file: str = ""
    line: int = 0
    rank: int | None = None
    host: str | None = None
    pid: int | None = None
    at_s: float | None = None
    text: str = ""
    fields: Mapping[str, Value] = field(default_factory=dict)


def left_out(event: str, more: int | str = "") -> str:
    """How a gap says that more events of a name were there than are kept; without a number the end of it."""
    return f"{more} more {event} left out"


@evidence("events")
@dataclass(frozen=True)
class Events:
    """Events read from the texts that belong to one process (or to the job as a whole)."""

    events: tuple[Event, ...]
