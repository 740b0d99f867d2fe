"""Two threads of one process that wait in each other's code: each below a frame of the part in which the other stands.

A lock is taken by the code that guards something with it. Where one thread goes from part A into part B and waits there, and
another goes from B into A and waits there, each is where the other's lock is taken: the shape of locks in opposite orders.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
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


def crossing(seen: Iterable[Seen]) -> Crossing | None:
    """The first pair of threads of one moment that wait in each other's parts, None where there is none."""
    waiting = [(one.moment, one.thread.tid, _parts(one.stack), _asleep(one)) for one in seen if _waits(one)]
    for (when, who, mine, sure), (then, other, theirs, too) in itertools.combinations(waiting, 2):
        if when != then or (who is not None and who == other) or not mine or not theirs or mine[0] == theirs[0]:
            continue
        if mine[0] in theirs[1:] and theirs[0] in mine[1:]:
            return Crossing(mine[0], theirs[0], sure and too)
    return None


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
