"""Who has done its work and stands in the barrier is not late: those are missing that have gone past it."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

DONE = "build_index (corpus/index.py), in the barrier after writing the index of the data\n"
AT_WORK = "build_index (corpus/index.py), still writing the index of the data, 40 min so far\n"


@pytest.mark.parametrize(
    ("first", "others", "late"),
    [
        (DONE, "returned from build_index with what the index file holds\n", False),
        (AT_WORK, "wait in the barrier of build_index\n", True),
    ],
)
def test_who_stands_in_the_barrier_is_not_awaited(first: str, others: str, late: bool, tmp_path: pathlib.Path) -> None:
    (tmp_path / "rank 0.txt").write_text(first)
    (tmp_path / "other ranks.txt").write_text(others)
    (tmp_path / "what was seen.txt").write_text("4 nodes: hangs in some runs\n")
    found = judge(gather([tmp_path])).findings
    assert [one.rule for one in found if one.rule == "one-rank-prepares"] == (["one-rank-prepares"] if late else [])
