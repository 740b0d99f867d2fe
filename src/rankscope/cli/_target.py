"""TARGET: what to look at. Nothing (this host), ``pid:N``, or a snapshot file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import RankscopeError


@dataclass(frozen=True)
class Target:
    """Either a process of this host, or a snapshot file, or (neither) the whole host."""

    pid: int | None = None
    file: Path | None = None


def parse(text: str | None) -> Target:
    """Read a TARGET; raise RankscopeError with what would be right."""
    if text is None:
        return Target()
    kind, colon, rest = text.partition(":")
    if colon and kind == "pid":
        return Target(pid=_pid(rest))
    if text.isdigit():
        return Target(pid=_pid(text))
    if os.path.isfile(text):
        return Target(file=Path(text))
    raise RankscopeError(
        f"I do not understand the target {text!r}", "it is neither pid:N nor an existing snapshot file",
        "rankscope diagnose            or   rankscope diagnose pid:1234",
    )  # fmt: skip


def _pid(text: str) -> int:
    if not text.isdigit() or not os.path.isdir(f"/proc/{int(text)}"):
        raise RankscopeError(
            f"there is no process {text[:20]!r} on this host", "/proc has no such entry",
            "rankscope diagnose            (finds the jobs by itself)",
        )  # fmt: skip
    return int(text)
