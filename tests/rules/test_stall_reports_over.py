"""A report of Horovod's stall inspector is over once every rank that it is about has made a step behind it."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

HEAD = (
    "[1,0]<stderr>:[2021-06-07 08:09:10.000000: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to "
    "be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
)
RANKS = HEAD + "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:1: [allreduce.conv1.weight, allreduce.fc.bias ...]\n"
OPS = HEAD + "[1,0]<stderr>:Stalled ops:allreduce.conv1.weight [missing ranks: 1]\n"
APART = HEAD + "[1,0]<stderr>:Stalled ranks:\n[1,0]<stderr>:0: [a.kernel]\n[1,0]<stderr>:1: [b.kernel]\n"
STEPS = "[1,1]<stderr>:step 0 loss 4.1\n[1,0]<stderr>:step 0 loss 4.3\n"


def causes(folder: pathlib.Path, text: str) -> set[str]:
    (folder / "train.log").write_text(text)
    return {one.cls for one in judge(gather([folder])).findings if one.kind is Kind.CAUSE}


@pytest.mark.parametrize("report", [RANKS, OPS, APART])
def test_a_report_that_is_over_accuses_nobody(tmp_path: pathlib.Path, report: str) -> None:
    assert not causes(tmp_path, report + STEPS)


@pytest.mark.parametrize("report", [RANKS, OPS])
@pytest.mark.parametrize(
    "behind",
    [
        "",
        "[1,0]<stderr>:step 0 loss 4.3\n",  # of the one that waits alone
        "[1,1]<stderr>:step 0 loss 4.1\n[1,0]<stderr>:saving\n",
        STEPS.replace("[1,1]<stderr>:", "").replace("[1,0]<stderr>:", ""),  # nobody knows whose they are
    ],
)
def test_a_report_that_is_not_over_stays(tmp_path: pathlib.Path, report: str, behind: str) -> None:
    assert "collective-missed-by-rank" in causes(tmp_path, report + behind)


def test_a_report_behind_the_steps_stays(tmp_path: pathlib.Path) -> None:
    assert causes(tmp_path, RANKS + STEPS + RANKS)
