"""The stacks of all ranks as one prefix tree whose nodes carry rank sets.

Children are kept in one order, so equal sets of stacks give equal trees, whoever was read first. Memory grows with distinct
stacks, not with ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..model.evidence.stacks import Frame
from ..model.ranks import RankSet


@dataclass(frozen=True)
class Node:
    """One frame and who stands in it or below; ``ends`` are those whose stack ends here."""

    frame: Frame | None
    ranks: RankSet
    ends: RankSet
    children: tuple[Node, ...] = ()


def build(stacks: Iterable[tuple[int, tuple[Frame, ...]]]) -> Node:
    """The tree of (rank, frames root first) pairs; a rank may have several stacks (threads, workers)."""
    groups: dict[tuple[Frame, ...], list[int]] = {}
    for rank, frames in stacks:
        groups.setdefault(tuple(frames), []).append(rank)
    return _node(None, [(frames, RankSet(ranks)) for frames, ranks in groups.items()], 0)


def _node(frame: Frame | None, groups: list[tuple[tuple[Frame, ...], RankSet]], depth: int) -> Node:
    """One node from all groups that share its first ``depth`` frames. A stack is as deep as Python lets it be,
    so straight runs are built in a loop and only forks recurse."""
    spine: list[tuple[Frame | None, RankSet]] = []
    while True:
        ranks = _union(group for _, group in groups)
        nexts = {frames[depth] for frames, _ in groups if len(frames) > depth}
        if len(nexts) != 1 or any(len(frames) == depth for frames, _ in groups):
            break
        spine.append((frame, ranks))
        frame = next(iter(nexts))
        depth += 1
    ends = _union(group for frames, group in groups if len(frames) == depth)
    below: dict[Frame, list[tuple[tuple[Frame, ...], RankSet]]] = {}
    for frames, group in groups:
        if len(frames) > depth:
            below.setdefault(frames[depth], []).append((frames, group))
    node = Node(frame, ranks, ends, _ordered(_node(one, rest, depth + 1) for one, rest in below.items()))
    for above, held in reversed(spine):
        node = Node(above, held, RankSet(), (node,))
    return node


def groups(node: Node) -> Iterator[tuple[tuple[Frame, ...], RankSet]]:
    """Every distinct stack of a tree with the ranks that stand in it."""
    todo: list[tuple[Node, tuple[Frame, ...]]] = [(node, ())]
    while todo:
        at, path = todo.pop()
        if at.frame is not None:
            path = (*path, at.frame)
        if at.ends:
            yield path, at.ends
        todo.extend((child, path) for child in at.children)


def _union(sets: Iterable[RankSet]) -> RankSet:
    out = RankSet()
    for one in sets:
        out = out | one
    return out


def _ordered(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Most ranks first, then by name: the order does not depend on who was read first."""

    def key(node: Node) -> tuple[int, str, str, int, str]:
        frame = node.frame
        assert frame is not None
        return -len(node.ranks), frame.file, frame.function, frame.line, str(node.ranks)

    return tuple(sorted(nodes, key=key))
