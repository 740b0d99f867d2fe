"""Several calls wait for one rank: which of them would it have had to issue first?

Its recorder does not say, but its peers went the same way before it: whoever stands in one of the calls has, in its own groups
of the same purpose, passed the counterpart of the other call already or has it still to come.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from .calls import Pending
from .graph import Graph
from .groups import Groups
from .ranks import RankView

_MOST_ASKED = 8
_MOST_COMPARED = 24


class Awaited:
    """Orders the calls in which ranks are awaited."""

    def __init__(self, graph: Graph, views: Mapping[int, RankView], groups: Groups):
        self._calls, self._views, self._groups = graph.calls, views, groups
        self.absent: dict[int, list[int]] = {}  # calls that wait for a rank
        for at, call in enumerate(graph.calls):
            for rank in call.awaited:
                self.absent.setdefault(rank, []).append(at)
        self.ahead = {at for at, call in enumerate(graph.calls)
                      if any(op.step == views[rank].open[0].step for rank, op in call.waiting.items())}  # fmt: skip

    def order(self, at: int) -> tuple[bool, int]:
        """Calls at which somebody stands first come before those queued behind; then the earliest."""
        return at not in self.ahead, self._calls[at].created_ns

    def first(self, rank: int) -> int | None:
        """The call that the rank would have had to issue next."""
        calls = sorted(self.absent.get(rank, ()), key=lambda at: (*self.order(at), at))
        return self._choose(rank, [at for at in calls if at in self.ahead] or calls[:1]) if calls else None

    def _choose(self, rank: int, calls: list[int]) -> int:
        some = calls[:_MOST_COMPARED]
        after = {b for a in some for b in some if a != b and self._precedes(rank, a, b)}
        early = [at for at in some if at not in after] or some
        return self._beyond_posted(early)

    def _beyond_posted(self, calls: list[int]) -> int:
        """Messages are posted long before their time comes: a collective in which more ranks wait goes before them."""
        collectives = [at for at in calls if self._calls[at].peer is None]
        posted = {rank for at in calls if self._calls[at].peer is not None for rank in self._calls[at].waiting}
        if posted and collectives and len(self._calls[collectives[0]].waiting) > len(posted):
            return collectives[0]
        return calls[0]

    def _precedes(self, rank: int, a: int, b: int) -> bool:
        """Do peers show that the rank has to issue ``a`` before ``b``?"""
        return self._passed(rank, b, a) is True or (
            self._passed(rank, a, b) is False and self._passed(rank, b, a) is None
        )

    def _passed(self, rank: int, at: int, other: int) -> bool | None:
        """Have those who stand in ``at`` issued (their counterpart of) ``other`` before it? None where nothing tells."""
        call, said = self._calls[at], []
        for peer, op in list(call.waiting.items())[:_MOST_ASKED]:
            own = self._calls[other].waiting.get(peer)
            if own is None and call.peer is not None:
                continue  # the other end of a message is another stage of a pipeline, which counts otherwise
            told = own.at < op.at if own is not None else self.counterpart(rank, peer, self._calls[other], op.at)
            if told is not None:
                said.append(told)
        return all(said) if said and len(set(said)) == 1 else None

    def counterpart(self, rank: int, peer: int, call: Pending, before: int) -> bool | None:
        """Did a peer issue, before a place in its ring, what a call is in its own group of the same description?"""
        group = self._own_group(peer, call)
        if group is None:
            return None
        if call.peer is not None:
            return self._message(rank, peer, call, group, before)
        if call.seq is None or self._views[peer].last.get(group, -1) < call.seq:
            return False
        place = self._views[peer].place(self._groups, group, call.seq)
        return place is None or place < before

    def _own_group(self, peer: int, call: Pending) -> int | None:
        if peer in call.members:
            return call.group if call.peer is None else None
        found = self._by_desc.get((peer, self._groups.all[call.group].desc))
        if found is None and call.peer is not None:  # without descriptions: the one group in which it posts messages
            names = {one.group for one in set(self._views[peer].ring.calls) if one.peer is not None}
            found = self._groups.of.get((peer, names.pop())) if len(names) == 1 else None
        return found

    @cached_property
    def _by_desc(self) -> Mapping[tuple[int, str], int]:
        """The group of a description that a rank is in, where it is in one only and the description says something."""
        found: dict[tuple[int, str], int] = {}
        twice = set()
        for (rank, _), group in self._groups.of.items():
            key = (rank, self._groups.all[group].desc)
            if found.setdefault(key, group) != group:
                twice.add(key)
        return {key: group for key, group in found.items() if key not in twice and key[1] not in ("", "undefined")}

    def _message(self, rank: int, peer: int, call: Pending, group: int, before: int) -> bool | None:
        """Did the peer post its message between the same places of its own group? Counted where rings go back to the
        start; else seen from the other end, which stands waiting for it or not."""
        members, ranks = self._groups.all[call.group].ranks, self._groups.all[group].ranks
        if call.peer is None or len(ranks) != len(members):
            return None
        ends = (members.index(call.peer[0]), members.index(call.peer[1]))
        sends = call.peer[0] == rank
        own, other = (ranks[end] for end in (ends if sends else ends[::-1]))
        if own != peer:
            return None  # it stands elsewhere in its group, and does other things
        end, op = next(iter(call.waiting.items()))
        half, counterhalf = ("send", "recv") if sends else ("recv", "send")
        if self._views[end].whole and self._views[peer].whole:
            through = self._posted(self._views[end], call.group, counterhalf, ends, op.at)
            return self._posted(self._views[peer], group, half, ends, before) > through
        return self._is_past(other, group, counterhalf, ends) if other in self._views else None

    def _is_past(self, rank: int, group: int, op: str, ends: tuple[int, int]) -> bool:
        """Does a rank not stand in such a message?"""
        opened = self._views[rank].open
        return not any(one.step == opened[0].step and one.group == group and one.call.op == op and one.call.peer == ends
                       for one in opened)  # fmt: skip

    def _posted(self, view: RankView, group: int, op: str, ends: tuple[int, int], before: int) -> int:
        names = {call.group for call in set(view.ring.calls) if self._groups.of.get((view.rank, call.group)) == group}
        return sum(call.op == op and call.peer == ends and call.group in names for call in view.ring.calls[:before])
