"""Source lines around places where a process stands, as its own host has them; taken only when somebody asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from ..process import ProcessRef
from . import evidence


@dataclass(frozen=True)
class Place:
    """A line of a file as a process knows it."""

    ref: ProcessRef
    file: str
    line: int


@dataclass(frozen=True)
class Excerpt:
    """Numbered lines around one line of a file, or why there are none. ``newer``: the file changed after the process began."""

    file: str
    line: int
    lines: tuple[tuple[int, str], ...] = ()
    missing: str = ""
    newer: bool = False


@evidence("source-lines")
@dataclass(frozen=True)
class SourceLines:
    """The excerpts that were asked for of one process."""

    excerpts: tuple[Excerpt, ...] = ()
