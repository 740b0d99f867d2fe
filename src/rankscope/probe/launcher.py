"""What every way of starting a job offers to discovery: one file per launcher in ``launchers/``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Callable

from .table import Seen, Table


@dataclass(frozen=True)
class Place:
    """Where a rank stands in its job; None where nobody says."""

    rank: int
    local_rank: int | None = None
    world_size: int | None = None
    local_world_size: int | None = None


@dataclass(frozen=True)
class Claim:
    """One job as a launcher sees it: its root (None when the launcher has died), its ranks, and all that belongs to it."""

    launcher: str
    root: int | None
    ranks: Mapping[int, Place]
    members: tuple[int, ...]
    world_size: int | None = None
    local_world_size: int | None = None


@dataclass(frozen=True)
class Launcher:
    """``find(table, free)`` yields the jobs among the processes nobody has claimed yet. Lower ``order`` asks first."""

    name: str
    order: int
    find: Callable[[Table, frozenset[int]], Iterator[Claim]]


@functools.cache
def launchers() -> tuple[Launcher, ...]:
    """All launchers, in the order in which they are asked."""
    from . import launchers as package

    found = [
        importlib.import_module(f"{package.__name__}.{info.name}").LAUNCHER
        for info in pkgutil.iter_modules(package.__path__)
    ]
    return tuple(sorted(found, key=lambda launcher: launcher.order))


def ranks_by_environ(
    table: Table, free: frozenset[int], place: Callable[[Mapping[str, str]], Place | None]
) -> dict[int, Place]:
    """Processes whose environment names a rank that their parent's does not: a helper inherits its rank's variables."""
    found = {}
    for pid in free:
        seen = table.seen[pid]
        mine = place(seen.environ or {})
        parent = table.seen.get(seen.parent)
        if mine is None or not seen.python or seen.state in "ZX":
            continue
        inherited = place(parent.environ or {}) if parent is not None and parent.python else None
        if inherited is None or inherited.rank != mine.rank:
            found[pid] = mine
    return found


def torch_place(environ: Mapping[str, str]) -> Place | None:
    """The place that torch's own variables name (``init_method="env://"``)."""
    rank, world = number(environ, "RANK"), number(environ, "WORLD_SIZE")
    if rank is None or world is None or rank >= world:
        return None
    return Place(rank, number(environ, "LOCAL_RANK"), world, number(environ, "LOCAL_WORLD_SIZE"))


def number(environ: Mapping[str, str], *names: str) -> int | None:
    """The first of these variables that holds a number."""
    for name in names:
        value = environ.get(name, "")
        if value.isascii() and value.isdigit():
            return int(value)
    return None


def with_descendants(table: Table, roots: Iterator[int] | tuple[int, ...]) -> tuple[int, ...]:
    """These processes and everything below them, ascending."""
    found = set()
    for root in roots:
        found.add(root)
        found.update(seen.pid for seen in table.below(root))
    return tuple(sorted(found))


def is_python_program(seen: Seen) -> bool:
    return seen.python and seen.state not in "ZX"
