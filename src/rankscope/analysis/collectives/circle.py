"""Ranks that wait for each other: is one of them to blame?

Sides of equal size are not. A rank is, where it alone keeps the circle closed or went another way than all others, or where its
messages alone left what it did in every step before. So is one that left out what its peers in other groups made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...model.ranks import RankSet, ranks_phrase
from ...model.ring import Call
from .awaited import Awaited
from .calls import Pending
from .graph import Graph, Root, circle_ranks, keystone
from .groups import Groups
from .habit import habit
from .ranks import RankView

_MOST_WITH_HABITS = 16
_MOST_ASKED = 16


@dataclass(frozen=True)
class Circle:
    """The ranks that keep it closed, those at fault, and the call that the one at fault left out, if that is it."""

    ranks: tuple[int, ...]
    odd: tuple[int, ...]
    detail: str
    lost: int | None = None


class Circles:
    """Judges the circles of one graph."""

    def __init__(self, graph: Graph, views: Mapping[int, RankView], groups: Groups, awaited: Awaited):
        self._graph, self._views, self._groups, self._awaited = graph, views, groups, awaited

    def judge(self, root: Root) -> Circle:
        """Who is at fault, and why we think so."""
        ranks = circle_ranks(self._graph, root)
        detail = f"{ranks_phrase(RankSet(ranks))} wait for each other"
        odd = self._deviators(root)
        if odd:
            return Circle(ranks, odd, f"{detail}; {ranks_phrase(RankSet(odd))} went another way than all others")
        left = self._left_out(root)
        if left is not None:
            rank, call = left
            who = self._groups.all[self._graph.calls[call].group].label
            story = f"those who stand beside rank {rank} have made their counterpart of this call of {who} before"
            return Circle(ranks, (rank,), story, call)
        stray, story = self._stray(ranks)
        if stray is None:
            return Circle(ranks, (), detail)
        if all(self._graph.calls[at].peer is None for at in root.calls):
            # It may still be about to make that call, later than before: two orders, of which either can be the wrong one.
            return Circle(ranks, (), f"{detail}; {story}")
        lost = self._lost_message(root, stray)
        return Circle(ranks, (stray,), story if lost is not None else f"{detail}; {story}", lost)

    def _deviators(self, root: Root) -> tuple[int, ...]:
        """Of two calls of the same members that wait for each other, the clear minority that stands in one of them; else
        the one rank that closes the circle. It left a call out or made two in another order; where sides are equal,
        nobody can be named."""
        if len(root.calls) == 2:
            one, other = (self._graph.calls[at] for at in root.calls)
            if one.peer is None is other.peer and set(one.members) == set(other.members):
                few, many = sorted((standing(one, self._views), standing(other, self._views)), key=len)
                return tuple(sorted(few)) if few | many == set(one.members) and len(few) < len(many) else ()
        alone = keystone(self._graph, root)
        return (alone,) if alone is not None and self._stands_alone(alone, root) else ()

    def _stands_alone(self, rank: int, root: Root) -> bool:
        """Is it, of all ranks of a circle, the only one that stands in a call of groups of that kind?"""
        inside = set(circle_ranks(self._graph, root))
        kinds = [(self._groups.all[call.group].label, call.peer is None, standing(call, self._views) & inside)
                 for call in map(self._graph.calls.__getitem__, root.calls)]  # fmt: skip
        own = {kind[:2] for kind in kinds if rank in kind[2]}
        return bool(own) and all(kind[2] <= {rank} for kind in kinds if kind[:2] in own) and len(inside) > 2

    def _left_out(self, root: Root) -> tuple[int, int] | None:
        """The one rank that is missing in a call of a circle although all who stand where it stands, members of other groups
        of that kind, have theirs behind them; and that call."""
        found = set()
        for at in root.calls:
            call = self._graph.calls[at]
            for rank in call.missing if call.peer is None else ():
                told = [self._awaited.counterpart(rank, other, call, beside.waiting[other].at)
                        for beside in map(self._graph.calls.__getitem__, root.calls) if beside.peer is None
                        for here in [standing(beside, self._views)] if rank in here
                        for other in sorted(here.difference(call.members))[:_MOST_ASKED]]  # fmt: skip
                if told and all(told):
                    found.add((rank, at))
        return found.pop() if len(found) == 1 else None

    def _stray(self, ranks: tuple[int, ...]) -> tuple[int | None, str]:
        """The one rank that left its habit while all others keep theirs, and how; else nobody."""
        if len(ranks) > _MOST_WITH_HABITS or not all(rank in self._views for rank in ranks):
            return None, ""
        habits = {rank: habit(self._views[rank]) for rank in ranks}
        left = [(rank, f"rank {rank} made {_words(one.made)} where it made {_words(one.usual)} in every step until now")
                for rank, one in habits.items() if one is not None and one.usual and one.made]  # fmt: skip
        return left[0] if len(left) == 1 and None not in habits.values() else (None, "")

    def _lost_message(self, root: Root, rank: int) -> int | None:
        """The message of a circle whose other half this rank did not post."""
        calls = self._graph.calls
        return next((at for at in root.calls if calls[at].peer is not None and rank in calls[at].missing), None)


def standing(call: Pending, views: Mapping[int, RankView]) -> set[int]:
    """Ranks that are at this call, not only queued for it."""
    return {rank for rank, op in call.waiting.items() if op.step == views[rank].open[0].step}


def _words(call: Call) -> str:
    """A call as a rank of its group says it: ``send 0→1 of pp``."""
    peers = f" {call.peer[0]}→{call.peer[1]}" if call.peer is not None else ""
    return f"{call.op}{peers} of {call.desc if call.desc not in ('', 'undefined') else f'group {call.group}'}"
