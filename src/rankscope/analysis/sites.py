"""Where in the program the ranks stand: grouped by call path, within ranks that play the same part."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.evidence.stacks import Frame, Stack
from ..model.process import Role
from ..model.ranks import RankSet
from .case import Case
from .standing import Standing
from .waits.collective import arrived


@dataclass(frozen=True)
class Site:
    """Ranks with one call path down to the job's deepest own frame, and the call they make there."""

    ranks: RankSet
    op: str
    frame: Frame | None
    stack: Stack
    waiting: bool
    still_s: float | None
    standings: tuple[Standing, ...]


def by_site(case: Case) -> list[Site]:
    """All ranks by where they stand."""
    groups: dict[tuple[object, str], list[Standing]] = {}
    for standing in case.standings.values():
        if standing.member.role is Role.RANK and standing.member.rank is not None and not standing.member.gone:
            groups.setdefault((standing.site, standing.wait.op if arrived(standing) else ""), []).append(standing)
    return [_site(group) for group in groups.values()]


def _site(group: list[Standing]) -> Site:
    first = group[0]
    ages = [standing.still_s for standing in group if standing.still_s is not None and not standing.moved]
    return Site(
        RankSet(standing.member.rank for standing in group if standing.member.rank is not None), first.wait.op,
        first.user_frame, first.own_stack, all(arrived(standing) for standing in group), max(ages, default=None), tuple(group),
    )  # fmt: skip
