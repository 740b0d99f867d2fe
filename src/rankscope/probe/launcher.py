"""What every way of starting a job offers to discovery: one file per launcher in ``launchers/``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Callable

from ..model.ranks import number_of
from . import procfs
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
    """Processes whose environment names a rank that their parent's does not: a helper inherits its rank's variables, and
    keeps them when whoever started it has ended."""
    named = {seen.pid: mine for seen in table.seen.values() if (mine := place(seen.environ or {})) is not None}
    found = {}
    for pid in free & named.keys():
        seen, mine = table.seen[pid], named[pid]
        parent = table.seen.get(seen.parent)
        if not is_python_program(seen):
            continue
        inherited = named.get(seen.parent) if parent is not None and parent.python else None
        if (inherited is None or inherited.rank != mine.rank) and not _left_behind(table, named, seen):
            found[pid] = mine
    return found


# A number that one start of a job gave twice by mistake it gave twice within this time.
_APART_S = 10.0


def runs(table: Table, places: Mapping[int, Place]) -> list[dict[int, Place]]:
    """Ranks of one meeting point, one part for each start of the job: a number that is there twice was left behind by an earlier
    run, so they are cut where most time lies between two starts."""
    pids = sorted(places, key=lambda pid: table.seen[pid].started)
    starts = [table.seen[pid].started for pid in pids]
    widest, at = max(((starts[i] - starts[i - 1], i) for i in range(1, len(starts))), default=(0, 0))
    if len({place.rank for place in places.values()}) == len(places) or widest < _APART_S * procfs.TICKS:
        return [dict(places)]
    parts = (pids[:at], pids[at:])
    return [run for part in parts for run in runs(table, {pid: places[pid] for pid in part})]


def run_folder(environ: Mapping[str, str]) -> str:
    """The folder that one elastic agent made for its ranks (``…/attempt_N/LOCAL_RANK/error.json``): each run has its own, also
    where nobody gave it an id."""
    return environ.get("TORCHELASTIC_ERROR_FILE", "").partition("/attempt_")[0]


# What ranks of one job and one start of it have in common.
_RUN = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_STEP_ID",
        "PMIX_NAMESPACE")  # fmt: skip


def _left_behind(table: Table, named: Mapping[int, Place], seen: Seen) -> bool:
    """Whether an older process is this rank already, and this one has lost its parent: a service that the rank started through
    a shell."""
    if not any(_run(seen)):
        return False
    number = named[seen.pid].rank
    firsts = (table.seen[pid] for pid, place in named.items() if place.rank == number)
    return any(
        is_python_program(first)
        and (first.started, first.pid) < (seen.started, seen.pid)
        and _run(first) == _run(seen)
        and _adopted(table, seen, first)
        for first in firsts
    )


def _adopted(table: Table, seen: Seen, first: Seen) -> bool:
    """Whether its parent did not start it as a second process of this number: an orphan goes to process 1 or to whoever collects
    orphans further up, and that may be a launcher itself, the first process of its container."""
    if seen.parent != first.parent:
        return seen.parent == 1 or any(one.pid == seen.parent for one in table.above(first.pid))
    parent = table.seen.get(seen.parent)
    return parent is not None and parent.python


def _run(seen: Seen) -> tuple[str | None, ...]:
    environ = seen.environ or {}
    return (*(environ.get(name) for name in _RUN), run_folder(environ) or None)


def torch_place(environ: Mapping[str, str]) -> Place | None:
    """The place that torch's own variables name (``init_method="env://"``)."""
    rank, world = number(environ, "RANK"), number(environ, "WORLD_SIZE")
    if rank is None or world is None or rank >= world:
        return None
    return Place(rank, number(environ, "LOCAL_RANK"), world, number(environ, "LOCAL_WORLD_SIZE"))


def number(environ: Mapping[str, str], *names: str) -> int | None:
    """The first of these variables that holds a rank or a number of ranks."""
    for name in names:
        found = number_of(environ.get(name, ""))
        if found is not None:
            return found
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
