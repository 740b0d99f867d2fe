"""Of two causes that say the same of the same ranks, the one that says more is the cause."""

from __future__ import annotations

import pytest

from rankscope.analysis.folding import fold
from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Job, Snapshot
from rankscope.pipeline import case_of

CERTAIN, LIKELY, POSSIBLE = Certainty.CERTAIN, Certainty.LIKELY, Certainty.POSSIBLE
STANDS, NEVER = "rank-stuck-in-user-code", "rank-never-joined"


def cause(rule: str, cls: str, certainty: Certainty, rank: int = 1) -> Finding:
    return Finding(rule, cls, Kind.CAUSE, certainty, rule, ranks=RankSet([rank]))


def left(*findings: Finding) -> list[str]:
    """The rules whose findings stay causes."""
    case = case_of(Snapshot(Job("torchrun")))
    return [one.rule for one in fold(case, list(findings)) if one.kind is Kind.CAUSE]


@pytest.mark.parametrize(
    ("other", "causes"),
    [
        (cause("server-does-not-accept", STANDS, LIKELY), ["server-does-not-accept"]),
        (cause("server-does-not-accept", STANDS, POSSIBLE), ["rank-in-user-code", "server-does-not-accept"]),
        (cause("server-does-not-accept", STANDS, LIKELY, 2), ["rank-in-user-code", "server-does-not-accept"]),
        (cause("rank-in-user-code", STANDS, LIKELY), ["rank-in-user-code", "rank-in-user-code"]),
    ],
    ids=["it says what is waited for", "it is less sure", "it is of another rank", "it is of another process"],
)
def test_where_one_stands_is_told_by_what_it_waits_for(other: Finding, causes: list[str]) -> None:
    assert left(cause("rank-in-user-code", STANDS, LIKELY), other) == causes


@pytest.mark.parametrize(
    ("certainty", "causes"), [(CERTAIN, ["store-lacks-rank"]), (LIKELY, ["store-lacks-rank", "rank-gone"])]
)
def test_that_a_rank_never_came_is_told_by_the_surer_one(certainty: Certainty, causes: list[str]) -> None:
    assert left(cause("store-lacks-rank", NEVER, certainty), cause("rank-gone", NEVER, LIKELY)) == causes
