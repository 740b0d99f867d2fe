"""The wait-for graph: where chains end (roots) and where they close (cycles)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Union

from ..model.diagnosis import Wait
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from .callers import began_s
from .case import Graph, Root
from .components import components
from .crowd import Crowd, Share
from .leisure import beside_servers, no_work_for, serves_in_turn, takes_first
from .scene import Scene, is_absent
from .standing import Standing, idle_worker
from .waits import find, with_some
from .waits.child import awaits_end

_Node = Union[ProcessRef, Crowd]


def build(scene: Scene) -> Graph:
    """Edges, roots (most waiters first) and cycles of a scene."""
    waits, shares = find(scene)
    after: dict[_Node, list[_Node]] = {}
    before: dict[_Node, list[_Node]] = {}
    for start, end in _edges(waits, shares):
        after.setdefault(start, []).append(end)
        before.setdefault(end, []).append(start)
    cycles = tuple(
        refs for group in components(after) if len(refs := _processes(group)) > 1 and not _leaves(group, after)
    )
    sinks = [ref for ref in before if ref not in after and isinstance(ref, ProcessRef)]
    alone = [
        ref for ref, standing in scene.standings.items() if ref not in after and ref not in before and _halts(standing)
    ]
    waiters: dict[tuple[_Node, ...], _Waiters] = {}  # those of one crowd are waited for by the same
    for ref in sinks:
        if tuple(before[ref]) not in waiters:
            waiters[tuple(before[ref])] = _waiters(scene, _reach(before[ref], before))
    roots = [_root(scene, ref, waiters[tuple(before[ref])], after) for ref in sinks]
    roots += [_root(scene, ref, _Waiters(), after) for ref in alone]
    roots.sort(key=lambda root: (-len(root.waiters), str(root.ref)))
    return Graph(with_some(scene, waits, shares, set(sinks)), tuple(roots), cycles, shares)


def _edges(waits: Iterable[Wait], shares: Iterable[Share]) -> Iterator[tuple[_Node, _Node]]:
    """From process to process, and from those who wait for a crowd through it to its members."""
    for wait in waits:
        if wait.target is not None:
            yield wait.waiter, wait.target
    crowds: set[Crowd] = set()
    for share in shares:
        yield share.wait.waiter, share.crowd
        if share.crowd not in crowds:
            crowds.add(share.crowd)
            yield from ((share.crowd, ref) for ref in share.crowd.refs)


def _processes(nodes: Iterable[_Node]) -> tuple[ProcessRef, ...]:
    """The processes among the nodes, in the order of their hosts and numbers."""
    refs = [node for node in nodes if isinstance(node, ProcessRef)]
    return tuple(sorted(refs, key=lambda ref: (ref.host, ref.pid)))


def _halts(standing: Standing) -> bool:
    """Whether a process that nobody waits for stands still by itself: it may be sick all the same."""
    role = standing.member.role
    return not standing.member.gone and not standing.moved and role is not Role.HELPER and not idle_worker(standing)


@dataclass(frozen=True)
class _Waiters:
    """All from whom chains lead to one process, with what follows from them; ``impatient`` are those who do not just mind a
    child."""

    refs: tuple[ProcessRef, ...] = ()
    ranks: RankSet = field(default_factory=RankSet)
    impatient: bool = False
    age_s: float | None = None


def _waiters(scene: Scene, refs: tuple[ProcessRef, ...]) -> _Waiters:
    ranks = RankSet(
        scene.members[one].process.rank or 0
        for one in refs
        if scene.members[one].role is Role.RANK and scene.members[one].process.rank is not None
    )
    # A parent joins its child for as long as the child works: that alone makes nobody late.
    known = [one for one in refs if one in scene.standings]
    impatient = [one for one in known if not awaits_end(scene.standings[one])]
    return _Waiters(refs, ranks, bool(impatient), oldest(scene.standings, impatient))


def _root(scene: Scene, ref: ProcessRef, waiters: _Waiters, after: Mapping[_Node, list[_Node]]) -> Root:
    root = scene.standings.get(ref)
    if root is not None and _at_leisure(scene, root, waiters, after):
        return Root(ref, waiters.refs, waiters.ranks, 0.0)  # nobody is kept waiting
    began = began_s(root) if root is not None else None
    if began is None:
        ages = (waiters.age_s, oldest(scene.standings, (ref,)))
        began = max((age for age in ages if age is not None), default=None)
    return Root(ref, waiters.refs, waiters.ranks, began)


def _at_leisure(scene: Scene, root: Standing, waiters: _Waiters, after: Mapping[_Node, list[_Node]]) -> bool:
    """Whether it is a server without a caller, or one of a household that has no work."""

    def awaited(ref: ProcessRef) -> tuple[ProcessRef, ...]:
        return _processes(after.get(ref, ()))

    return (
        serves_in_turn(scene, root, waiters.refs)
        or (not waiters.impatient and beside_servers(scene, root))
        or takes_first(scene, root, waiters.refs)
        or no_work_for(scene, root, waiters.refs, awaited)
    )


def oldest(standings: Mapping[ProcessRef, Standing], refs: Iterable[ProcessRef]) -> float | None:
    """How long the longest of these has stood still; those that moved count as young. None: nothing tells."""
    ages = [
        0.0 if standing.moved else standing.still_s
        for standing in (standings.get(ref) for ref in refs if not is_absent(ref))
        if standing is not None and (standing.moved or standing.still_s is not None)
    ]
    return max((one for one in ages if one is not None), default=None)


def _reach(ends: Collection[_Node], before: Mapping[_Node, list[_Node]]) -> tuple[ProcessRef, ...]:
    """Everybody from whom a chain leads to one of these, and themselves."""
    met, todo = set(ends), list(ends)
    while todo:
        for node in before.get(todo.pop(), ()):
            if node not in met:
                met.add(node)
                todo.append(node)
    return _processes(met)


def _leaves(group: Iterable[_Node], after: Mapping[_Node, list[_Node]]) -> bool:
    """Whether some member of a component also waits for somebody outside: then it is a chain, not a deadlock."""
    inside = set(group)
    return any(target not in inside for node in inside for target in after.get(node, ()))
