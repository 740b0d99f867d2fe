"""Ranks that make a group: where in the program, with whom, and under which name, as the frames of torch have it.

Torch calls a group by how many this process has made before (``_process_group_name`` of distributed_c10d.py), and its members
find each other in the store by that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..model.ranks import RankSet, number_of
from .case import Case
from .frame_tables import WaitKind
from .identity import name_of
from .standing import Standing


class Making(NamedTuple):
    """How a rank stands, the members of its group, and the name that torch gave to it; empty where it is not known."""

    standing: Standing
    members: RankSet
    name: str = ""


_FILE = "torch/distributed/distributed_c10d.py"
_FIRST = {(_FILE, "init_process_group")}  # the meeting of the whole job, which has no members to choose


def members(standing: Standing | None) -> RankSet:
    """The ranks of the group that a rank makes; empty where its frames do not tell."""
    known = standing.thread.locals if standing is not None and standing.thread is not None else ()
    told = [one.value.strip("[]()").split(",") for one in known if one.name == "global_ranks_in_group"]
    ranks = (number_of(rank.strip()) for rank in (told[-1] if told else ()))
    return RankSet(rank for rank in ranks if rank is not None)


def makers(case: Case) -> Mapping[int, Making]:
    """The ranks that stand in the making of a group, with its members."""
    found = ((rank, case.standings.get(member.ref)) for rank, member in case.by_rank.items())
    return {rank: Making(one, members(one), _name(one)) for rank, one in found if one is not None and makes_group(one)}


def _name(standing: Standing) -> str:
    known = standing.thread.locals if standing.thread is not None else ()
    return next((one.value for one in known if one.name == "group name"), "")


def makes_group(standing: Standing) -> bool:
    """Whether a rank waits for others with whom it makes a group."""
    if standing.kind is not WaitKind.RENDEZVOUS or standing.user_frame is None:
        return False
    inside = [name_of(frame) for frame in standing.own_stack[standing.wait.user + 1 :]]
    return any(file == _FILE for file, _ in inside) and _FIRST.isdisjoint(inside)


def apart(found: Mapping[int, Making]) -> Iterator[tuple[int, int]]:
    """Pairs of ranks each of which makes a group with the other, at another place of the program, with other members, or under
    another name."""
    for first, one in found.items():
        for second in one.members:
            other = found.get(second) if second > first else None
            if other is not None and first in other.members and (place(one) != place(other) or _at_odds(one, other)):
                yield first, second


def place(making: Making) -> tuple[object, RankSet]:
    """Where in the program a group is made, and of whom."""
    return making.standing.site, making.members


def _at_odds(one: Making, other: Making) -> bool:
    return bool(one.name and other.name) and one.name != other.name
