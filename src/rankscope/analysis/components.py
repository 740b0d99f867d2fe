"""The strongly connected components of a graph: who can be reached from each other, by whatever way."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(edges: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Each component with its nodes, what it leads to first (Tarjan 1972), without recursion: chains may be long."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    done: set[Node] = set()
    stack: list[Node] = []
    out: list[list[Node]] = []
    for start in edges:
        if start in index:
            continue
        work = [(start, iter(edges.get(start, ())))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            node, targets = work[-1]
            target = next((one for one in targets if one not in done), None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    out.append(_popped(stack, node))
                    done.update(out[-1])
            elif target in index:
                low[node] = min(low[node], index[target])
            else:
                index[target] = low[target] = len(index)
                stack.append(target)
                work.append((target, iter(edges.get(target, ()))))
    return out


def _popped(stack: list[Node], node: Node) -> list[Node]:
    """The nodes above this one on the stack and itself, taken off it."""
    group: list[Node] = []
    while not group or group[-1] != node:
        group.append(stack.pop())
    return group
