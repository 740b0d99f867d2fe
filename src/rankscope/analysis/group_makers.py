"""Ranks that make a group: where in the program, and with whom, as the frames of torch have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..model.ranks import RankSet, number_of
from .case import Case
from .frame_tables import WaitKind
from .identity import name_of
from .standing import Standing

Making = tuple[Standing, RankSet]  # how the rank stands, and the members of its group

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
    return {rank: (one, members(one)) for rank, one in found if one is not None and makes_group(one)}


def makes_group(standing: Standing) -> bool:
    """Whether a rank waits for others with whom it makes a group."""
    if standing.kind is not WaitKind.RENDEZVOUS or standing.user_frame is None:
        return False
    inside = [name_of(frame) for frame in standing.own_stack[standing.wait.user + 1 :]]
    return any(file == _FILE for file, _ in inside) and _FIRST.isdisjoint(inside)


def apart(found: Mapping[int, Making]) -> Iterator[tuple[int, int]]:
    """Pairs of ranks each of which makes a group with the other, at another place of the program or with other members."""
    for first, (one, with_first) in found.items():
        for second in with_first:
            if second > first and second in found:
                other, with_second = found[second]
                if first in with_second and (one.site, with_first) != (other.site, with_second):
                    yield first, second
