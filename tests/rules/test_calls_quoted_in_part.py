# ruff: noqa: E501  (a line of a log is one line)
"""A report of the watchdog that was quoted as far as its call tells which call it was, and of what size."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

CALL = "[rank{}]:[E1124 14:11:24.183009389 ProcessGroupNCCL.cpp:632] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4190, OpType=ALLREDUCE, NumelIn={}, NumelOut={}, Timeout(ms)=600000)"


def judged(folder: pathlib.Path, sizes: dict[int, int], behind: str = "") -> Diagnosis:
    lines = [CALL.format(rank, rank, size, size) + behind for rank, size in sizes.items()]
    (folder / "console.log").write_text("\n".join(lines))
    return judge(gather([folder]), 30.0)


@pytest.mark.parametrize("behind", ["", " ...", "\n...", "\n ran for 600012 milliseconds before timing out."])
def test_a_call_that_is_quoted_without_how_long_it_ran_is_read(tmp_path: pathlib.Path, behind: str) -> None:
    """Two ranks bring different sizes to one call."""
    verdict = judged(tmp_path, {0: 4501504, 1: 8171520}, behind).verdict
    assert verdict is not None
    assert verdict.cls == "collective-mismatch"


def test_equal_sizes_are_no_mismatch(tmp_path: pathlib.Path) -> None:
    """Both ranks wait in the same call, with as many elements."""
    found = judged(tmp_path, {0: 4501504, 1: 4501504}).findings
    assert "collective-mismatch" not in {one.cls for one in found}
