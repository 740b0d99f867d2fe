"""Who waits for whom: one file per kind of edge, each with ``find(scene)`` that yields waits."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Container, Iterable, Iterator

from ...model.diagnosis import Wait
from ...model.process import ProcessRef, Role
from ..crowd import Crowd, Share, edges, few
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
    """All edges from one to one, each once, and who waits for a crowd."""
    found = [wait for finder in finders() for wait in finder(scene)]
    return _once(scene, (one for one in found if isinstance(one, Wait))), tuple(
        one for one in found if isinstance(one, Share)
    )


def with_some(
    scene: Scene, waits: tuple[Wait, ...], shares: tuple[Share, ...], first: Container[ProcessRef]
) -> tuple[Wait, ...]:
    """These edges, and of those to crowds a few, which stand for all of them where people read: those to the ``first`` of all."""
    targets: dict[Crowd, tuple[ProcessRef, ...]] = {}
    for share in shares:
        if share.crowd not in targets:
            targets[share.crowd] = few(share.crowd, first)
    return _once(scene, (*waits, *(wait for share in shares for wait in edges(share, targets[share.crowd]))))


def _once(scene: Scene, waits: Iterable[Wait]) -> tuple[Wait, ...]:
    seen: dict[tuple[object, object], Wait] = {}
    for wait in waits:
        if not _minds(scene, wait):
            seen.setdefault((wait.waiter, wait.target), wait)
    return tuple(seen.values())
