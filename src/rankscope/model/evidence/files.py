"""Open file descriptors."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class OpenFile:
    """One descriptor and what it points to, as the link in /proc/PID/fd reads (``pipe:[17]``, ``/data/x``), and how open."""

    fd: int
    target: str
    mode: str = ""  # r, w or rw


@evidence("files")
@dataclass(frozen=True)
class OpenFiles:
    """The descriptors of one process, in order; ``limit`` is how many it may have, 0 where that is unknown."""

    files: tuple[OpenFile, ...]
    truncated: bool = False
    limit: int = 0
