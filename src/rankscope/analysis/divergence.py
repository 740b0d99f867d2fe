"""Where two call paths part: the last common frame and the first lines that differ."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.evidence.stacks import Frame, Stack
from .origin import is_user


@dataclass(frozen=True)
class Fork:
    """In which function two stacks part, and at which lines of it (or in which callees)."""

    common: str
    one: str
    other: str


def part(one: Stack, other: Stack) -> Fork | None:
    """The first difference between two stacks that lies in the job's own code; None when there is none."""
    for depth, (a, b) in enumerate(zip(one, other)):
        if a == b:
            continue
        if (a.file, a.function) == (b.file, b.function):
            return Fork(a.function, _at(a), _at(b)) if is_user(a) else None
        above = one[depth - 1].function if depth else "the program"
        return Fork(above, f"{a.function} ({_at(a)})", f"{b.function} ({_at(b)})")
    return None


def _at(frame: Frame) -> str:
    return f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}"
