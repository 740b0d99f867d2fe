"""Horovod meets by name: sides that lack each other's tensors named them apart; a side that lacks all of them missed a call."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

HEAD = (
    "[2023-03-02 10:11:12.000000: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, "
    "gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
)


def judged(folder: pathlib.Path, report: str) -> Diagnosis:
    (folder / "train.log").write_text(HEAD + report)
    return judge(gather([folder]))


def rules(diagnosis: Diagnosis) -> set[str]:
    return {finding.rule for finding in diagnosis.findings}


@pytest.mark.parametrize(
    "report",
    [
        "Missing ranks:\n0: [tower_1.kernel, tower_1.bias]\n1: [tower_0.kernel, tower_0.bias]\n",
        "Stalled ranks:\n0: [tower_1.kernel, tower_1.bias]\n1: [tower_0.kernel]\n",
        "Stalled ops:\ngrad_3 [missing ranks: 2, 5]\ngrad_4 [missing ranks: 0, 1, 3, 4]\n",
        "Stalled ops:\ngrad_3 [ready ranks: 2, 5]\ngrad_4 [ready ranks: 0, 1]\n",
    ],
)
def test_two_sides_that_lack_each_others_tensors(tmp_path: pathlib.Path, report: str) -> None:
    diagnosis = judged(tmp_path, report)
    assert diagnosis.verdict is not None
    assert diagnosis.verdict.cls == "collective-mismatch"
    (found,) = (finding for finding in diagnosis.findings if finding.rule == "tensors-named-apart")
    assert any("missing on" in reason.text or "ready on" in reason.text for reason in found.because)


@pytest.mark.parametrize(
    "report",
    [
        "Missing ranks:\n2: [dense.kernel, dense.bias]\n5: [dense.kernel, dense.bias]\n",
        "Stalled ops:\ngrad_3 [missing ranks: 2, 5]\ngrad_4 [missing ranks: 2]\n",
        "Missing ranks:\n0: [tower_1.kernel, ...]\n1: [tower_0.kernel, ...]\n",
    ],
)
def test_one_side_that_lacks_them_all_or_a_list_cut_short(tmp_path: pathlib.Path, report: str) -> None:
    assert "tensors-named-apart" not in rules(judged(tmp_path, report))


def test_the_newest_report_counts(tmp_path: pathlib.Path) -> None:
    first = "Missing ranks:\n0: [tower_1.kernel]\n1: [tower_0.kernel]\n"
    assert "tensors-named-apart" not in rules(judged(tmp_path, first + HEAD + "Missing ranks:\n1: [tower_0.kernel]\n"))


@pytest.mark.parametrize(
    ("report", "odd"),
    [
        ("0: [Metric_loss]\n1: [Metric_loss]\n2: [DistributedAdam_Allreduce/HorovodAllreduce_grads_0_0 ...]\n", [2]),
        ("0: [allreduce.fc.weight ...]\n1: [eval.accuracy]\n2: [eval.accuracy]\n", [0]),
        ("0: [allreduce.fc.weight ...]\n1: [broadcast.fc.weight]\n2: [broadcast.fc.weight]\n", None),
        ("1: [allreduce.fc.weight ...]\n2: [allreduce.fc.weight ...]\n", None),
        ("0: [eval.loss]\n1: [eval.accuracy]\n2: [eval.accuracy]\n", None),
        ("0: [allreduce.fc.weight ...]\n1: [eval.accuracy]\n", None),
    ],
    ids=["at the end of an epoch", "by parameters", "begins anew", "one side", "two metrics", "one each"],
)
@pytest.mark.parametrize("tag", ["", "[0]<stderr>:", "[1,0]<stderr>:"], ids=["plain", "horovodrun", "mpirun"])
def test_who_lacks_the_gradients_has_left_the_steps(
    tmp_path: pathlib.Path, report: str, odd: list[int] | None, tag: str
) -> None:
    lines = (HEAD + "Missing ranks:\n" + report).splitlines(keepends=True)
    (tmp_path / "train.log").write_text("".join(f"{tag}{line}" for line in lines))
    found = [one for one in judge(gather([tmp_path])).findings if one.rule == "ranks-stand-apart"]
    assert [list(one.ranks) for one in found] == ([odd] if odd is not None else [])
