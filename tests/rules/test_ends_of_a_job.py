"""Of a job that is over each end is told as it was, and who was only cleaned up is not to blame."""

from __future__ import annotations

import pytest
from test_live_rules import job
from test_rank_gone import KILLED, RAISED, zombie

from rankscope.model.diagnosis import Certainty, Finding
from rankscope.pipeline import judge

ENDED, CRASHED = 15, 11


def told(*statuses: int) -> Finding:
    snapshot = job(*(zombie(70 + rank, rank, status) for rank, status in enumerate(statuses)))
    return next(one for one in judge(snapshot).findings if one.rule == "job-ended")


@pytest.mark.parametrize(
    ("statuses", "blamed", "certainty"),
    [
        ((RAISED, ENDED, ENDED), {0}, Certainty.LIKELY),
        ((RAISED, KILLED, ENDED), {0}, Certainty.POSSIBLE),
        ((CRASHED, RAISED, KILLED), {0, 1}, Certainty.POSSIBLE),
        ((KILLED, ENDED, ENDED), {0}, Certainty.LIKELY),
        ((ENDED, ENDED, ENDED), {0, 1, 2}, Certainty.LIKELY),
    ],
)
def test_signals_of_a_launcher_are_its_cleaning_up(
    statuses: tuple[int, ...], blamed: set[int], certainty: Certainty
) -> None:
    """SIGKILL may also be the beginning: the kernel's word for memory that ran out."""
    found = told(*statuses)
    assert set(found.ranks) == blamed
    assert found.certainty is certainty
    assert bool(found.against) == (certainty is Certainty.POSSIBLE)


def test_those_who_ended_alike_are_told_together_and_others_apart() -> None:
    title = told(RAISED, CRASHED, RAISED).title
    assert "exit code 1 and is a zombie that nobody has reaped, like 1 more" in title
    assert "rank 1 (pid 71 on n1) was killed by SIGSEGV" in title
