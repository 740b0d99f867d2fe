"""The job's own output: where it goes and what stands at its end."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class LogTail:
    """The end of one log. ``silent_s`` is the time since its last write; ``tail`` is cut to whole lines."""

    path: str
    fd: int
    size_bytes: int
    silent_s: float | None
    tail: tuple[str, ...] = ()


@evidence("log")
@dataclass(frozen=True)
class Logs:
    """The files behind fd 1 and 2 (pipes and terminals have no tail)."""

    logs: tuple[LogTail, ...]
