"""What we could not learn, and why: absence is evidence too."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .process import ProcessRef


class Why(str, enum.Enum):
    """Why a piece of evidence is missing."""

    DENIED = "denied"  # the kernel or the file system refused us
    GONE = "gone"  # the process ended before or while we looked
    TIMEOUT = "timeout"  # no answer before the deadline
    BLOCKED = "blocked"  # the read itself stood still and was abandoned
    MISSING = "missing"  # this machine has no such file, tool or device
    UNKNOWN_LAYOUT = "unknown-layout"  # memory did not look as this build should; nothing was guessed
    UNSUPPORTED = "unsupported"  # we do not know how to read this kind of target
    FAILED = "failed"  # a tool or a parser gave up
    DAMAGED = "damaged"  # the evidence is truncated, foreign or broken
    CUT = "cut"  # there is more of it than we read
    UNREACHABLE = "unreachable"  # the host did not answer
    SKIPPED = "skipped"  # not looked at, on purpose: see the detail


@dataclass(frozen=True)
class Gap:
    """One piece of evidence that could not be had, with the reason and what would help."""

    what: str
    why: Why
    detail: str = ""
    hint: str = ""
    process: ProcessRef | None = None
    host: str | None = None
