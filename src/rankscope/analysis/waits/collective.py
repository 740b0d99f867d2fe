"""A rank in a collective waits for every member that has not arrived.

Where recorders say who is missing, they decide. Otherwise the stacks do: ranks that stand in collectives wait for ranks
that stand elsewhere, or that are gone. Ranks that stand in different collectives wait for each other.
Where the stacks tell the groups of the calls, a rank waits for the members of its group that are not in a call of this group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model.diagnosis import Wait
from ...model.process import ProcessRef, Role
from ...model.ranks import RankSet
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..load import RUNS
from ..scene import Scene
from ..standing import Standing

WAITING = (WaitKind.COLLECTIVE, WaitKind.BACKWARD, WaitKind.RENDEZVOUS)


def find(scene: Scene) -> Iterator[Wait | Share]:
    ranks = [standing for standing in scene.of_role(Role.RANK) if standing.member.rank is not None]
    inside = [standing for standing in ranks if arrived(standing)]
    awaited = _Awaited(scene, ranks, inside)
    for standing in inside:
        rank = standing.member.rank
        known = scene.rank_edges.get(rank) if rank is not None else None
        if known is not None:
            for target, why in known:
                yield Wait(standing.member.ref, scene.rank_ref(target), why, standing.still_s)
        else:
            yield from for_all(standing.member.ref, awaited.by(standing), what(standing), standing.still_s)


class _Awaited:
    """Whom those who stand in a call wait for, found once for all who name the same group."""

    def __init__(self, scene: Scene, ranks: Iterable[Standing], inside: Iterable[Standing]) -> None:
        # A rank that stands in another kind of wait is absent; one that merely runs in backward is on its way.
        self._outside = [standing for standing in ranks if not arrived(standing)]
        self._gone = [(rank, scene.rank_ref(rank)) for rank in scene.missing]
        self._groups = {standing.member.ref: group_of(standing) for standing in inside}
        self._named = [standing for standing in inside if self._groups[standing.member.ref][0]]
        self._known: dict[tuple[str, RankSet], Crowd] = {}

    def by(self, standing: Standing) -> Crowd:
        """The members of its group that are in no call of this group; where it names no group, all who are in no call."""
        key = self._groups[standing.member.ref]
        if key not in self._known:
            self._known[key] = Crowd(tuple(self._absent(*key)))
        return self._known[key]

    def _absent(self, name: str, group: RankSet) -> Iterator[ProcessRef]:
        elsewhere = [one for one in self._named if name and self._groups[one.member.ref][0] != name]
        for other in (*self._outside, *elsewhere):
            if not group or other.member.rank in group:
                yield other.member.ref
        for rank, ref in self._gone:
            if not group or rank in group:
                yield ref


def group_of(standing: Standing) -> tuple[str, RankSet]:
    """The name and the ranks of the group in whose call it stands, as its innermost frame tells; empty where none does."""
    known = standing.thread.locals if standing.thread and standing.kind is WaitKind.COLLECTIVE else ()
    told = next((local.value for local in reversed(known) if local.name == "group ranks"), "")
    name, _, ranks = told.rpartition(": ")
    try:
        return name, RankSet.parse(ranks)
    except ValueError:
        return "", RankSet()  # a snapshot that somebody wrote by hand


def arrived(standing: Standing) -> bool:
    """Whether this process waits inside a collective (or in autograd, where gradient collectives run) and is not at work."""
    if standing.kind not in WAITING or standing.state in ("T", "t", "D", "Z", "X"):
        return False
    return not (standing.kind is WaitKind.BACKWARD and standing.busy > RUNS)


def what(standing: Standing) -> str:
    """The collective in words, as far as the stack tells."""
    if standing.kind is WaitKind.BACKWARD:
        return "gradient all_reduce in backward"
    where = standing.user_frame
    place = f" at {where.file.rsplit('/', 1)[-1]}:{where.line}" if where is not None else ""
    return f"{standing.wait.op}{place}"
