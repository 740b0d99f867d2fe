"""What the wait-for edges are read from: how everybody stands, who is who, and who should be here and is not."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from .away import Away
from .case import Member
from .standing import Standing

# A rank that should exist and has no process still needs a name in the graph.
_ABSENT = "rank"


def absent(rank: int) -> ProcessRef:
    """The stand-in for a rank without a process; prints as ``rank:3``."""
    return ProcessRef(_ABSENT, rank, -1)


def is_absent(ref: ProcessRef) -> bool:
    return ref.started == -1 and ref.host == _ABSENT


@dataclass(frozen=True)
class Scene:
    """Members by reference, ranks by number; ``missing`` are ranks that should be here and have no living process."""

    members: Mapping[ProcessRef, Member]
    standings: Mapping[ProcessRef, Standing]
    ranks: Mapping[int, ProcessRef]
    missing: RankSet = field(default_factory=RankSet)
    rank_edges: Mapping[int, tuple[tuple[int, str], ...]] = field(default_factory=dict)  # from recorders, exact
    away: tuple[Away, ...] = ()  # hosts that gave no answer

    def of_role(self, role: Role) -> list[Standing]:
        return [standing for standing in self.standings.values() if standing.member.role is role]

    def rank_ref(self, rank: int) -> ProcessRef:
        """The process of a rank, or its stand-in."""
        return self.ranks.get(rank, absent(rank))

    def children_of(self, pid: int, host: str) -> Sequence[Standing]:
        return self._children.get((host, pid), ())

    @functools.cached_property
    def by_pid(self) -> Mapping[tuple[str, int], ProcessRef]:
        """Members by host and pid: hosts, and pods of one host, number alike."""
        return {(ref.host, ref.pid): ref for ref in self.members}

    @functools.cached_property
    def _children(self) -> Mapping[tuple[str, int], list[Standing]]:
        found: dict[tuple[str, int], list[Standing]] = {}
        for one in self.standings.values():
            found.setdefault((one.member.ref.host, one.member.process.parent), []).append(one)
        return found
