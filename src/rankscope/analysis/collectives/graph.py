"""Who waits for whom, over all groups at once, and where that ends: at a rank that waits for nobody, at a call that
everybody joined, or in a circle.

Nodes are ranks and incomplete calls. A call waits for each member that has not issued it, and for what its other members
have unfinished before it, since devices work in order. A rank that has to issue something waits for its own first
unfinished step. Whatever can be reached from nowhere else is a consequence; the ends are the roots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..components import components
from .calls import Pending
from .ranks import RankView

Node = int  # calls are 0, 1, 2 …; rank r is -1 - r


@dataclass(frozen=True)
class Root:
    """An end of the graph: one rank, one call, or a circle (more than one node)."""

    ranks: tuple[int, ...]
    calls: tuple[int, ...]

    @property
    def circle(self) -> bool:
        return len(self.ranks) + len(self.calls) > 1


@dataclass(frozen=True)
class Graph:
    """Edges by node; ``because`` names the rank whose order of calls makes one call wait for another; ``batches`` are the
    pairs of calls of which one waits for the other only as part of a batch."""

    calls: list[Pending]
    edges: dict[Node, list[Node]]
    because: dict[tuple[Node, Node], set[int]]
    batches: set[tuple[Node, Node]]

    def only_batches(self, root: Root) -> bool:
        """Does a circle of calls consist of batches alone, in which nobody is missing?"""
        inside = set(root.calls)
        return all((at, to) in self.batches for at in inside for to in self.edges.get(at, ()) if to in inside)


def rank_node(rank: int) -> Node:
    """The node of a rank."""
    return -1 - rank


def build(calls: list[Pending], views: Mapping[int, RankView]) -> Graph:
    """The wait-for graph."""
    first = _first_steps(calls, views)
    edges: dict[Node, list[Node]] = {}
    because: dict[tuple[Node, Node], set[int]] = {}
    for at, call in enumerate(calls):
        targets = edges.setdefault(at, [])
        targets.extend(rank_node(rank) for rank in call.awaited)
        for rank in call.awaited:
            edges.setdefault(rank_node(rank), first.get(rank, []))
        earlier: set[Node] = set()
        for rank, op in call.waiting.items():
            if op.step != views[rank].open[0].step:
                for before in first.get(rank, ()):
                    earlier.add(before)
                    because.setdefault((at, before), set()).add(rank)
        earlier.discard(at)
        targets.extend(sorted(earlier))
    return Graph(calls, edges, because, set(_tie_batches(calls, views, first, edges)))


def _tie_batches(
    calls: list[Pending], views: Mapping[int, RankView], first: Mapping[int, list[Node]], edges: dict[Node, list[Node]]
) -> Iterator[tuple[Node, Node]]:
    for at, call in enumerate(calls):
        if call.peer is None or call.awaited:
            continue
        for rank, op in call.waiting.items():
            if op.step == views[rank].open[0].step:
                for other in first.get(rank, ()):
                    if other != at and other not in edges[at]:
                        edges[at].append(other)
                        yield at, other


def _first_steps(calls: list[Pending], views: Mapping[int, RankView]) -> dict[int, list[Node]]:
    """The calls that each rank is at: those of its first unfinished step."""
    first: dict[int, list[Node]] = {}
    for at, call in enumerate(calls):
        for rank, op in call.waiting.items():
            if op.step == views[rank].open[0].step:
                first.setdefault(rank, []).append(at)
    return first


def roots(graph: Graph) -> list[Root]:
    """Components that wait for nothing outside themselves."""
    component = {node: number for number, nodes in enumerate(components(graph.edges)) for node in nodes}
    leaving = {component[node] for node, targets in graph.edges.items()
               for target in targets if component[target] != component[node]}  # fmt: skip
    members: dict[int, list[Node]] = {}
    for node, number in component.items():
        if number not in leaving:
            members.setdefault(number, []).append(node)
    return [Root(tuple(sorted(-1 - n for n in nodes if n < 0)), tuple(sorted(n for n in nodes if n >= 0)))
            for nodes in members.values()]  # fmt: skip


def reachable(graph: Graph, starts: list[Node]) -> set[Node]:
    """Everything that the given nodes wait for, directly or not, and themselves."""
    seen, queue = set(starts), list(starts)
    while queue:
        for target in graph.edges.get(queue.pop(), ()):
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return seen


def islands(graph: Graph, groups: Iterable[tuple[int, ...]]) -> dict[Node, Node]:
    """Nodes by the part of the job they are in: parts that share no incomplete call and none of the given groups have
    nothing to do with each other."""
    parent: dict[Node, Node] = {}

    def find(node: Node) -> Node:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    for node, targets in graph.edges.items():
        waiting = [rank_node(rank) for rank in graph.calls[node].waiting] if node >= 0 else []
        for other in (*targets, *waiting):
            parent[find(other)] = find(node)
    for ranks in groups:
        for rank in ranks[1:]:
            parent[find(rank_node(rank))] = find(rank_node(ranks[0]))
    return {node: find(node) for node in list(parent)}


def circle_ranks(graph: Graph, root: Root) -> tuple[int, ...]:
    """The ranks that keep a circle closed: those that others in it wait for, or whose order of calls ties two calls."""
    inside = set(root.calls)
    ranks = set(root.ranks)
    for (a, b), who in graph.because.items():
        if a in inside and b in inside:
            ranks |= who
    return tuple(sorted(ranks))


def keystone(graph: Graph, root: Root) -> int | None:
    """The one rank without which a circle would not be closed, in however many ways it goes round; None if there are
    several such ranks, or none."""
    cuts = [rank for rank in _on_one_way_round(graph, root) if not _closes_without(graph, root, rank)]
    return cuts[0] if len(cuts) == 1 else None


def _on_one_way_round(graph: Graph, root: Root) -> list[int]:
    """The ranks on one way round: a rank that is on every way is on this one."""
    inside = {*root.calls, *map(rank_node, root.ranks)}
    node, order = root.calls[0], dict[Node, int]()
    while node not in order:
        order[node] = len(order)
        node = next(target for target in graph.edges[node] if target in inside)
    way = [one for one, at in order.items() if at >= order[node]]
    found = {-1 - one for one in way if one < 0}
    for one, following in zip(way, [*way[1:], way[0]]):
        who = graph.because.get((one, following), set())
        found |= who if len(who) == 1 else set()
    return sorted(found)


def _closes_without(graph: Graph, root: Root, rank: int) -> bool:
    inside = {*root.calls, *map(rank_node, root.ranks)} - {rank_node(rank)}
    edges = {
        node: [to for to in graph.edges.get(node, ()) if to in inside and graph.because.get((node, to)) != {rank}]
        for node in inside
    }
    return len(components(edges)) < len(inside)
