"""Who waits for whom: one file per kind of edge, each with ``find(scene)`` that yields waits."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..crowd import Share, some_edges
from ..scene import Scene

Finder = Callable[[Scene], Iterator[Wait | Share]]


@functools.cache
def finders() -> tuple[Finder, ...]:
    """Every kind of edge of this folder."""
    return tuple(importlib.import_module(f"{__name__}.{info.name}").find for info in pkgutil.iter_modules(__path__))


def _minds(scene: Scene, wait: Wait) -> bool:
    """Whether this is a launcher that watches its ranks: that is its work, not a wait."""
    waiter, target = scene.members.get(wait.waiter), scene.members.get(wait.target) if wait.target else None
    return waiter is not None and target is not None and waiter.role is Role.LAUNCHER and target.role is Role.RANK


def find(scene: Scene) -> tuple[tuple[Wait, ...], tuple[Share, ...]]:
    """All edges, each once, and who waits for a crowd, of whose edges only a few are among them."""
    seen: dict[tuple[object, object], Wait] = {}
    shares = []
    for finder in finders():
        for found in finder(scene):
            if isinstance(found, Share):
                shares.append(found)
            for wait in some_edges(found) if isinstance(found, Share) else (found,):
                if not _minds(scene, wait):
                    seen.setdefault((wait.waiter, wait.target), wait)
    return tuple(seen.values()), tuple(shares)
