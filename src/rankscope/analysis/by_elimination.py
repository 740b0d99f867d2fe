"""Ranks whose number cannot be read any more: they bear those missing among their siblings, in the order of their births.

The environment of the dead is gone, and that of a process that holds the lock of its own memory does not let itself be read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..model.process import Role
from ..model.ranks import RankSet
from .awaited import is_python
from .case import Member


def renumbered(members: tuple[Member, ...], expected: RankSet) -> tuple[Member, ...]:
    """The members, with ranks for those of one family of siblings that lack a number, where just as many numbers are missing."""
    ranks = [member for member in members if member.role is Role.RANK and member.rank is not None]
    families = {_family(member) for member in ranks}
    nameless = [member for member in members if _may_be_rank(member) and _family(member) in families]
    holes = _missing(ranks, len(nameless), expected)
    if not nameless or len(holes) != len(nameless) or len({_family(member) for member in nameless}) != 1:
        return members
    given = {member.ref: rank for member, rank in zip(sorted(nameless, key=_birth), holes)}
    named = tuple(_with_rank(member, given.get(member.ref)) for member in members)
    return named if len(given) == 1 or _in_order(named, _family(nameless[0])) else members


def unread(member: Member) -> bool:
    """Whether it lives, and has not even told its command line."""
    return bool(member.present) and not member.dead and is_python(member.process) and not member.process.command


def _may_be_rank(member: Member) -> bool:
    """Whether it has no number, and cannot tell it any more."""
    return member.role is Role.OTHER and member.rank is None and (member.dead or unread(member))


def _missing(ranks: Sequence[Member], wanted: int, expected: RankSet) -> RankSet:
    """The numbers that nobody bears: of those promised, else below the highest one, else behind it."""
    numbers = RankSet(member.rank for member in ranks if member.rank is not None)
    if expected:
        return expected - numbers
    top = max(numbers, default=-1) + 1
    holes = RankSet(range(top)) - numbers
    world = max((member.process.world_size or 0 for member in ranks), default=0)
    return holes or RankSet(range(top, min(top + wanted, world or top + wanted)))  # the last ones are gone


def _in_order(members: Sequence[Member], family: tuple[str, int]) -> bool:
    """Whether the ranks of a family were started one after the other."""
    born = sorted((one for one in members if one.role is Role.RANK and _family(one) == family), key=_birth)
    numbers = [one.rank or 0 for one in born]
    return numbers == sorted(numbers)


def _family(member: Member) -> tuple[str, int]:
    return (member.ref.host, member.process.parent)


def _birth(member: Member) -> tuple[int, int]:
    return (member.ref.started, member.ref.pid)


def _with_rank(member: Member, rank: int | None) -> Member:
    if rank is None:
        return member
    return dataclasses.replace(member, process=dataclasses.replace(member.process, role=Role.RANK, rank=rank))
