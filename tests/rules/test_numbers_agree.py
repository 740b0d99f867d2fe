"""Verbs and pronouns agree with the ranks they are said of."""

from __future__ import annotations

import pytest

from rankscope.model.evidence.cgroup import ControlGroup
from rankscope.model.ranks import RankSet
from rankscope.rules.seen import memory_group_killed, recorder_behind, recorder_silent


@pytest.mark.parametrize(("ranks", "late", "them"), [("3", "rank 3 is", "it"), ("3-4", "ranks 3-4 are", "them")])
def test_who_is_late_or_left_no_record(ranks: str, late: str, them: str) -> None:
    assert recorder_behind._late(RankSet.parse(ranks)) == late
    assert recorder_silent._them(RankSet.parse(ranks)) == them


def test_one_process_was_killed_for_memory() -> None:
    group = ControlGroup("/job", 2, limit_bytes=1 << 30, reached=1, oom_kills=1)
    told = memory_group_killed._says(group, 0)
    assert "counts 1 process killed" in told
    assert "reached 1 time" in told
