"""Two threads of one process that wait in each other's code: each below a frame of the part in which the other stands.

A lock is taken by the code that guards something with it. Where one thread goes from part A into part B and waits there, and
another goes from B into A and waits there, each is where the other's lock is taken: the shape of locks in opposite orders.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..model.evidence.stacks import Frame, Stack
from .account import Seen
from .frame_tables import WaitKind
from .frames import kind_of, plain_name, wait_of
from .origin import Origin, module_path, origin

# Parts through which everything goes.
_COMMON = set("std boost absl pybind11 nanobind pyo3 core tokio __gnu_cxx torch c10 at cv".split())
_SHOWS_NO_WAIT = (WaitKind.USER, WaitKind.LIBRARY, WaitKind.LOCK, WaitKind.UNKNOWN)


@dataclass(frozen=True)
class Crossing:
    """Two stacks, and the part in which each of them stands."""

    first: str
    second: str
    sure: bool = True  # both are seen to wait


@dataclass(frozen=True)
class _Waiting:
    """A thread that waits, and the parts it came through, innermost first."""

    moment: object
    tid: int | None
    parts: list[str]
    sure: bool

    def is_not(self, other: _Waiting) -> bool:
        return self.tid is None or self.tid != other.tid


def crossing(seen: Iterable[Seen]) -> Crossing | None:
    """The first pair of threads of one moment that wait in each other's parts, None where there is none."""
    found = (_Waiting(one.moment, one.thread.tid, _parts(one.stack), _asleep(one)) for one in seen if _waits(one))
    waiting = [one for one in found if one.parts]
    met = _met(waiting)
    for number, mine in enumerate(waiting):
        inner = mine.parts[0]
        others = [
            at
            for part in mine.parts[1:]
            for at in met.get((mine.moment, part, inner), ())
            if part != inner and at > number and mine.is_not(waiting[at])
        ]
        if others:
            theirs = waiting[min(others)]
            return Crossing(inner, theirs.parts[0], mine.sure and theirs.sure)
    return None


def _met(waiting: Sequence[_Waiting]) -> dict[tuple[object, str, str], list[int]]:
    """Who stands in a part and came through another: of each pair of parts the first thread, and the first other than that."""
    met: dict[tuple[object, str, str], list[int]] = {}
    for number, one in enumerate(waiting):
        for part in set(one.parts[1:]):
            there = met.setdefault((one.moment, one.parts[0], part), [])
            if not there or (len(there) == 1 and one.is_not(waiting[there[0]])):
                there.append(number)
    return met


def _asleep(one: Seen) -> bool:
    """Whether somebody says that a thread does not run, or its frames do."""
    return one.thread.active is False or kind_of(one.stack[-1]) in (WaitKind.LOCK, WaitKind.CONDITION) or one.native


def _waits(one: Seen) -> bool:
    """Whether a thread ends in a lock, or is idle in Python code that shows no other wait, as at a ``with``."""
    if not one.stack:
        return False
    leaf = one.stack[-1]
    if leaf.library is not None or not leaf.file or origin(leaf) is Origin.NATIVE:
        return any(kind_of(frame) is WaitKind.LOCK for frame in one.stack[-6:])
    return one.thread.active is not True and wait_of(one.stack).kind in _SHOWS_NO_WAIT


def _parts(stack: Stack) -> list[str]:
    """The parts of the program that a stack goes through, innermost first, each run once; locks and common ones left out."""
    found = [part for frame in reversed(stack) if (part := _part(frame))]
    return [part for part, _ in itertools.groupby(found)]


def _part(frame: Frame) -> str:
    """The class of a native function, the package of a library's, the file of one's own code."""
    if kind_of(frame) in (WaitKind.LOCK, WaitKind.CONDITION):
        return ""
    where = origin(frame)
    if where is Origin.NATIVE or frame.library is not None or not frame.file or frame.file.endswith(_SOURCES):
        name = plain_name(frame.function)
        scope = name.rpartition("::")[0]
        return scope if scope and scope.split("::")[0] not in _COMMON else ""
    if where is Origin.LIBRARY:
        package = module_path(frame.file).split("/")[0]
        return package if package not in _COMMON else ""
    return module_path(frame.file) if where is Origin.USER else ""


_SOURCES = (".cc", ".cpp", ".cxx", ".c", ".h", ".hpp", ".rs", ".cu")
