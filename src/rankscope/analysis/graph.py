"""The wait-for graph: where chains end (roots) and where they close (cycles)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from .callers import awaits_callers, began_s
from .case import Graph, Root
from .frame_tables import Kind
from .scene import Scene, is_absent
from .standing import Standing, idle_worker
from .waits import find


def build(scene: Scene) -> Graph:
    """Edges, roots (most waiters first) and cycles of a scene."""
    waits = find(scene)
    after: dict[ProcessRef, list[ProcessRef]] = {}
    before: dict[ProcessRef, list[ProcessRef]] = {}
    for wait in waits:
        if wait.target is not None:
            after.setdefault(wait.waiter, []).append(wait.target)
            before.setdefault(wait.target, []).append(wait.waiter)
    cycles = tuple(group for group in components(after) if len(group) > 1 and not _leaves(group, after))
    sinks = [ref for ref in before if ref not in after]
    alone = [
        ref for ref, standing in scene.standings.items() if ref not in after and ref not in before and _halts(standing)
    ]
    roots = [_root(scene, ref, _reach(ref, before)) for ref in (*sinks, *alone)]
    return Graph(waits, tuple(sorted(roots, key=lambda root: (-len(root.waiters), str(root.ref)))), cycles)


def _halts(standing: Standing) -> bool:
    """Whether a process that nobody waits for stands still by itself: it may be sick all the same."""
    role = standing.member.role
    return not standing.member.gone and not standing.moved and role is not Role.HELPER and not idle_worker(standing)


def _root(scene: Scene, ref: ProcessRef, waiters: tuple[ProcessRef, ...]) -> Root:
    ranks = RankSet(
        scene.members[one].process.rank or 0
        for one in waiters
        if scene.members[one].role is Role.RANK and scene.members[one].process.rank is not None
    )
    # A parent joins its child for as long as the child works: that alone makes nobody late.
    impatient = [one for one in waiters if one in scene.standings and scene.standings[one].kind is not Kind.CHILD]
    root = scene.standings.get(ref)
    if not impatient and root is not None and awaits_callers(root):
        return Root(ref, waiters, ranks, 0.0)  # a server without a caller: nobody is kept waiting
    began = began_s(root) if root is not None else None
    return Root(ref, waiters, ranks, oldest(scene.standings, (ref, *impatient)) if began is None else began)


def oldest(standings: Mapping[ProcessRef, Standing], refs: Iterable[ProcessRef]) -> float | None:
    """How long the longest of these has stood still; those that moved count as young. None: nothing tells."""
    ages = [
        0.0 if standing.moved else standing.still_s
        for standing in (standings.get(ref) for ref in refs if not is_absent(ref))
        if standing is not None and (standing.moved or standing.still_s is not None)
    ]
    return max((one for one in ages if one is not None), default=None)


def _reach(start: ProcessRef, before: Mapping[ProcessRef, list[ProcessRef]]) -> tuple[ProcessRef, ...]:
    """Everybody from whom a chain leads to ``start``."""
    met, todo = {start}, [start]
    while todo:
        for ref in before.get(todo.pop(), ()):
            if ref not in met:
                met.add(ref)
                todo.append(ref)
    return tuple(sorted(met - {start}, key=lambda ref: (ref.host, ref.pid)))


def _leaves(group: tuple[ProcessRef, ...], after: Mapping[ProcessRef, list[ProcessRef]]) -> bool:
    """Whether some member of a component also waits for somebody outside: then it is a chain, not a deadlock."""
    inside = set(group)
    return any(target not in inside for ref in group for target in after.get(ref, ()))


def components(after: Mapping[ProcessRef, list[ProcessRef]]) -> list[tuple[ProcessRef, ...]]:
    """Strongly connected components (Tarjan 1972), without recursion: chains may be as long as a job has ranks."""
    index: dict[ProcessRef, int] = {}
    low: dict[ProcessRef, int] = {}
    on: set[ProcessRef] = set()
    stack: list[ProcessRef] = []
    out: list[tuple[ProcessRef, ...]] = []
    for start in after:
        if start in index:
            continue
        work = [(start, iter(after.get(start, ())))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, rest = work[-1]
            child = next(rest, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    out.append(_pop(stack, on, node))
            elif child not in index:
                index[child] = low[child] = len(index)
                stack.append(child)
                on.add(child)
                work.append((child, iter(after.get(child, ()))))
            elif child in on:
                low[node] = min(low[node], index[child])
    return out


def _pop(stack: list[ProcessRef], on: set[ProcessRef], node: ProcessRef) -> tuple[ProcessRef, ...]:
    group = []
    while True:
        one = stack.pop()
        on.discard(one)
        group.append(one)
        if one == node:
            return tuple(sorted(group, key=lambda ref: (ref.host, ref.pid)))
