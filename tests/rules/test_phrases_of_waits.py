"""How reasons say where a process stands, and for how long it has been waited for."""

from __future__ import annotations

import pytest
from test_live_rules import WORKS, Body, job

from rankscope.analysis.case import Root
from rankscope.model.process import ProcessRef
from rankscope.model.ranks import RankSet
from rankscope.pipeline import case_of
from rankscope.rules._say import stands, waited_for


def test_a_place_is_said_once() -> None:
    """Where the kernel tells the kind of a wait, its frame is the job's own."""
    one = Body(70, WORKS, rank=0, wchan="do_wait")
    case = case_of(job(one))
    assert stands(case.standings[one.ref]).text.startswith("rank 0 (pid 70 on n1) is in prepare (train.py:77)")


@pytest.mark.parametrize(
    ("age_s", "ends"), [(9.0, "for it (the longest for 9.0 s)"), (0.04, "for it"), (None, "for it")]
)
def test_no_time_is_no_age(age_s: float | None, ends: str) -> None:
    root = Root(ProcessRef("n1", 70, 1), (ProcessRef("n1", 71, 1),), RankSet([1]), age_s)
    assert [one.text.endswith(ends) for one in waited_for(root)] == [True]
