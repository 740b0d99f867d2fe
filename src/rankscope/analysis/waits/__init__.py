"""Who waits for whom: one file per kind of edge, each with ``find(scene) -> Iterator[Wait]``."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..scene import Scene

Finder = Callable[[Scene], Iterator[Wait]]


@functools.cache
def finders() -> tuple[Finder, ...]:
    """Every kind of edge of this folder."""
    return tuple(importlib.import_module(f"{__name__}.{info.name}").find for info in pkgutil.iter_modules(__path__))


def _minds(scene: Scene, wait: Wait) -> bool:
    """Whether this is a launcher that watches its ranks: that is its work, not a wait."""
    waiter, target = scene.members.get(wait.waiter), scene.members.get(wait.target) if wait.target else None
    return waiter is not None and target is not None and waiter.role is Role.LAUNCHER and target.role is Role.RANK


def find(scene: Scene) -> tuple[Wait, ...]:
    """All edges, each once."""
    seen: dict[tuple[object, object], Wait] = {}
    for finder in finders():
        for wait in finder(scene):
            if _minds(scene, wait):
                continue
            seen.setdefault((wait.waiter, wait.target), wait)
    return tuple(seen.values())
