"""Where in the program the ranks stand: grouped by call path, of all ranks or within those that play the same part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..model.evidence.stacks import Frame, Stack
from ..model.process import Role
from ..model.ranks import RankSet
from .case import Case
from .own_age import youngest_s
from .standing import Standing
from .waits.collective import arrived, group_of


@dataclass(frozen=True)
class Site:
    """Ranks with one call path down to the job's deepest own frame, and the call they make there; ``still_s`` is how long none
    of them has moved."""

    ranks: RankSet
    op: str
    frame: Frame | None
    stack: Stack
    waiting: bool
    still_s: float | None
    standings: tuple[Standing, ...]


def by_site(case: Case) -> list[Site]:
    """All ranks by where they stand."""
    return _sites(_present(case))


def by_part(case: Case) -> list[list[Site]]:
    """The ranks of each group in whose calls some of them stand, by where they stand; all of them where no call tells a group.

    Ranks of one group are in its calls together, those of several groups (of a stage, of a shard) rightly apart. A rank whose
    call tells no group counts with each one to which it belongs.
    """
    ranks = _present(case)
    groups = {standing.member.rank: group_of(standing)[1] for standing in ranks}
    by_rank = {standing.member.rank: standing for standing in ranks}
    told = dict.fromkeys(group for group in groups.values() if group)
    parts = ([rank for rank in group if groups.get(rank) in (group, RankSet())] for group in told)
    return [_sites(by_rank[rank] for rank in part) for part in parts] or [_sites(ranks)]


def _present(case: Case) -> list[Standing]:
    return [
        standing
        for standing in case.standings.values()
        if standing.member.role is Role.RANK and standing.member.rank is not None and not standing.member.gone
    ]


def _sites(ranks: Iterable[Standing]) -> list[Site]:
    groups: dict[tuple[object, str], list[Standing]] = {}
    for standing in ranks:
        groups.setdefault((standing.site, standing.wait.op if arrived(standing) else ""), []).append(standing)
    return [_site(group) for group in groups.values()]


def _site(group: list[Standing]) -> Site:
    first = group[0]
    return Site(
        RankSet(standing.member.rank for standing in group if standing.member.rank is not None), first.wait.op,
        first.user_frame, first.own_stack, all(arrived(standing) for standing in group), youngest_s(group), tuple(group),
    )  # fmt: skip
