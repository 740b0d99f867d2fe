"""Many waiters of many: what would be an edge for each pair of them is kept as one node of the graph between the two sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from ..model.diagnosis import Wait
from ..model.process import ProcessRef

# Of so many targets, each has an edge from each waiter; a job of a thousand ranks would have half a million of them otherwise.
MOST_TARGETS = 16


@dataclass(frozen=True, eq=False)
class Crowd:
    """Those for all of whom somebody waits; a waiter among them does not wait for itself."""

    refs: tuple[ProcessRef, ...]


@dataclass(frozen=True)
class Share:
    """One process waits for a whole crowd; its ``wait`` names no target."""

    wait: Wait
    crowd: Crowd


def for_all(waiter: ProcessRef, crowd: Crowd, why: str, since_s: float | None) -> Iterator[Wait | Share]:
    """One process waits for each of these: an edge to each of a few, and to many as one."""
    share = Share(Wait(waiter, None, why, since_s), crowd)
    if len(crowd.refs) > MOST_TARGETS:
        yield share
    else:
        yield from edges(share, crowd.refs)


def edges(share: Share, targets: Iterable[ProcessRef]) -> Iterator[Wait]:
    """The edges to these of a crowd."""
    for target in targets:
        if target != share.wait.waiter:
            yield dataclasses.replace(share.wait, target=target)


def few(crowd: Crowd, first: Container[ProcessRef]) -> tuple[ProcessRef, ...]:
    """Those who stand for all of a crowd where people read: who is among the ``first``, before others."""
    return tuple(sorted(crowd.refs, key=lambda ref: ref not in first)[:MOST_TARGETS])
