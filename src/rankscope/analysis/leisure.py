"""Households that have nothing to do for now, by which nobody is kept waiting, although somebody waits for somebody in them."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable

from ..model.process import ProcessRef, Role
from .callers import awaits_callers
from .frame_tables import WaitKind
from .scene import Scene
from .shared_locks import keepers
from .standing import Standing
from .takers import taking_at
from .waits.child import awaits_end

_SHORT = 0.5  # of the time for which others have waited


def beside_servers(scene: Scene, root: Standing) -> bool:
    """Whether a process that sleeps is a sibling of servers without callers: nobody lacks what works by the clock there."""
    if root.kind is not WaitKind.SLEEP or root.member.role is Role.RANK:
        return False
    return any(map(awaits_callers, scene.children_of(root.member.process.parent, root.member.ref.host)))


def serves_in_turn(scene: Scene, root: Standing, waiters: Iterable[ProcessRef]) -> bool:
    """Whether a server waits for a caller, and nobody lacks anything but the lock that it has, for a turn of his own."""
    return awaits_callers(root) and all(
        awaits_end(one) or root.member.ref.pid in keepers(one) for one in _seen(scene, waiters)
    )


def takes_first(scene: Scene, root: Standing, waiters: Iterable[ProcessRef]) -> bool:
    """Whether a process waits for the next item of a queue, and only those wait for it that want the one after: it has the lock
    for reading meanwhile."""
    here = taking_at(root)
    found = _seen(scene, waiters) if here else []
    return bool(found) and all(taking_at(one) == here for one in found)


def no_work_for(
    scene: Scene, root: Standing, waiters: Iterable[ProcessRef], awaited: Callable[[ProcessRef], Iterable[ProcessRef]]
) -> bool:
    """Whether several workers that a process keeps waiting want the next item of one queue, and one of those who could put it in
    has napped since: so it is where somebody looks now and then whether there is work."""
    if root.kind is not WaitKind.SLEEP or root.member.role is Role.RANK:
        return False
    crew = [one for one in _seen(scene, waiters) if taking_at(one)]
    if max(collections.Counter(taking_at(one) for one in crew).values(), default=0) < 2:
        return False
    since = min((one.still_s or 0.0) for one in crew)
    feeders = {ref for one in crew for ref in awaited(one.member.ref)}
    return any(_naps(scene.standings[ref], _SHORT * since) for ref in feeders if ref in scene.standings)


def _seen(scene: Scene, refs: Iterable[ProcessRef]) -> list[Standing]:
    return [scene.standings[ref] for ref in refs if ref in scene.standings]


def _naps(standing: Standing, at_most_s: float) -> bool:
    return standing.kind is WaitKind.SLEEP and standing.still_s is not None and standing.still_s < at_most_s
