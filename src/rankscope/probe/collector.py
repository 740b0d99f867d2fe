"""What every way of gathering one kind of evidence offers: one file per kind in ``collectors/``."""

from __future__ import annotations

import enum
import functools
import importlib
import pkgutil
from dataclasses import dataclass, field
from typing import Any, Callable

from ..model.gap import Gap
from ..model.process import Process, Role
from .engine import StackOptions


class Touch(str, enum.Enum):
    """What gathering does to the job."""

    PASSIVE = "looks"  # reads /proc or memory; the job cannot tell
    ASKS = "asks"  # sends a read-only request to a server of the job


@dataclass(frozen=True)
class Target:
    """One process to look at, and how. ``before`` is this collector's record of the last sweep; ``seen`` holds what other
    collectors read of this process in this sweep, by kind; ``shelf`` is the collector's own memory for this host,
    empty again after a step that stood still: nothing may be lost but time where it forgets."""

    process: Process
    proc: str = "/proc"
    before: Any = None
    seen: dict[str, Any] = field(default_factory=dict)
    shelf: dict[str, Any] = field(default_factory=dict)
    options: StackOptions = field(default_factory=StackOptions)
    engine: str = "auto"

    @property
    def path(self) -> str:
        return f"{self.proc}/{self.process.ref.pid}"


@dataclass(frozen=True)
class Collector:
    """``collect(target)`` gives one record or a Gap (or several, or None for "nothing of this kind here").

    It may raise OSError, which becomes a gap with the kernel's reason. Lower ``order`` goes first; ``every_sweep`` is
    False for what does not change; ``roles`` bounds whose evidence is worth its cost; ``per_host``
    is True for what is told once, beside the first process that is there; ``by_engine`` is True where an engine does the
    work, whose own deadline then comes on top; ``shared`` is True where files or a server are asked that processes share,
    so that what holds up the question about one of them holds up the same question about its neighbours.
    """

    kind: str
    touch: Touch
    deadline_s: float
    collect: Callable[[Target], Any | Gap | None]
    every_sweep: bool = True
    roles: frozenset[Role] | None = None
    order: int = 50
    per_host: bool = False
    by_engine: bool = False
    shared: bool = False


@functools.cache
def collectors(only: frozenset[str] | None = None) -> tuple[Collector, ...]:
    """All collectors, or those of some kinds, in the order in which they work; others are not even loaded."""
    from . import collectors as package

    found = [
        importlib.import_module(f"{package.__name__}.{info.name}").COLLECTOR
        for info in pkgutil.iter_modules(package.__path__)
        if only is None or info.name.replace("_", "-") in only  # a kind is called like its file
    ]
    return tuple(sorted(found, key=lambda collector: (collector.order, collector.kind)))
