"""A rank in a collective waits for every member that has not arrived.

Where recorders say who is missing, they decide. Otherwise the stacks do: ranks that stand in collectives wait for ranks
that stand elsewhere, or that are gone. Ranks that stand in different collectives wait for each other.
Where the stacks tell the groups of the calls, a rank waits for the members of its group that are not in a call of this group.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ...model.ranks import RankSet
from ..frame_tables import Kind
from ..scene import Scene
from ..standing import Standing

WAITING = (Kind.COLLECTIVE, Kind.BACKWARD, Kind.RENDEZVOUS)


def find(scene: Scene) -> Iterator[Wait]:
    ranks = [standing for standing in scene.of_role(Role.RANK) if standing.member.rank is not None]
    inside = [standing for standing in ranks if arrived(standing)]
    # A rank that stands in another kind of wait is absent; one that merely runs in backward is on its way.
    outside = [standing for standing in ranks if not arrived(standing)]
    for standing in inside:
        rank = standing.member.rank
        known = scene.rank_edges.get(rank) if rank is not None else None
        if known is not None:
            for target, why in known:
                yield Wait(standing.member.ref, scene.rank_ref(target), why, standing.still_s)
            continue
        name, group = group_of(standing)
        elsewhere = [one for one in inside if name and one is not standing and group_of(one)[0] not in (name, "")]
        for other in (*outside, *elsewhere):
            if not group or other.member.rank in group:
                yield Wait(standing.member.ref, other.member.ref, what(standing), standing.still_s)
        for gone in scene.missing:
            if not group or gone in group:
                yield Wait(standing.member.ref, scene.rank_ref(gone), what(standing), standing.still_s)


def group_of(standing: Standing) -> tuple[str, RankSet]:
    """The name and the ranks of the group in whose call it stands, as its innermost frame tells; empty where none does."""
    known = standing.thread.locals if standing.thread and standing.kind is Kind.COLLECTIVE else ()
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
    return not (standing.kind is Kind.BACKWARD and standing.busy > 0.5)


def what(standing: Standing) -> str:
    """The collective in words, as far as the stack tells."""
    if standing.kind is Kind.BACKWARD:
        return "gradient all_reduce in backward"
    where = standing.user_frame
    place = f" at {where.file.rsplit('/', 1)[-1]}:{where.line}" if where is not None else ""
    return f"{standing.wait.op}{place}"
