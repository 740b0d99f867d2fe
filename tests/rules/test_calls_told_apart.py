"""Calls that somebody has counted, and ranks of which some are in one-sided access and others in a call of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.pipeline import judge

FAILED = "gloo: Timed out waiting 1800000ms for recv operation to complete\n"


def judged(folder: Path, **texts: str) -> Diagnosis:
    """What is said of these files."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("counts_of_all_reduce_messages", "first node one more than the second\n"),
        ("counted", "rank 3 made 2 broadcast calls fewer than the others, by the counts of broadcast\n"),
        ("number_of_barriers", "the first host has one more than the other\n"),
        ("log_of_calls_of_all_gather", "some more calls on rank 0 than on rank 1\n"),
    ],
)
def test_somebody_has_counted_the_calls(head: str, line: str, tmp_path: Path) -> None:
    found = judged(tmp_path, console=FAILED, **{head: line}).verdict
    assert found is not None
    assert (found.cls, found.certainty) == ("collective-missed-by-rank", Certainty.LIKELY)


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("memory", "the first node has one GPU more than the second\n"),
        ("counts_of_all_reduce_messages", "the same on both nodes\n"),
    ],
)
def test_other_counts_tell_nothing(head: str, line: str, tmp_path: Path) -> None:
    found = judged(tmp_path, console=FAILED, **{head: line})
    assert "calls-counted" not in {one.rule for one in found.findings}


EPOCH = """\
#0  0x01 in poll () from /lib/libc.so.6
#1  0x02 in opal_progress () from /lib/libopen-pal.so.40
... {call} () called by Log::report()
"""


@pytest.mark.parametrize("call", ["PMPI_Win_unlock", "MPI_Win_flush_all", "MPI_Win_lock"])
@pytest.mark.parametrize(
    "others", ["bcast(nodes ...) in Grid::find()", "MPI_Barrier(comm)", "PMPI_Allreduce (sum.c:40)"]
)
def test_an_epoch_of_some_against_a_call_of_the_others(call: str, others: str, tmp_path: Path) -> None:
    found = judged(tmp_path, ranks_in_report=EPOCH.format(call=call), the_other_ranks=others + "\n")
    assert "groups-in-cycle" in {one.rule for one in found.findings}


@pytest.mark.parametrize(
    ("call", "others"), [("MPI_Win_unlock", "MPI_Win_unlock(0, win)"), ("MPI_Recv", "MPI_Barrier(comm)")]
)
def test_without_both_there_is_no_circle(call: str, others: str, tmp_path: Path) -> None:
    found = judged(tmp_path, ranks_in_report=EPOCH.format(call=call), the_other_ranks=others + "\n")
    assert "groups-in-cycle" not in {one.rule for one in found.findings}


@pytest.mark.parametrize(
    "rows",
    [
        "ranks with 1: model.attention_op\nranks with 0: cache.check_transfer\n",
        "processes whose batch is empty -> engine.idle_step\nprocesses whose batch is not -> engine.execute_model()\n",
        "the ranks that have images stand in vit.forward\nthe ranks that have none wait in Reducer.finalize\n",
    ],
)
def test_parties_of_ranks_that_somebody_has_sorted(rows: str, tmp_path: Path) -> None:
    found = judged(tmp_path, stacks_of_all_ranks_after_300_s=rows).findings
    assert [(one.rule, one.cls) for one in found if one.rule == "ranks-stand-apart"]


@pytest.mark.parametrize(
    "rows",
    [
        "ranks with 1: model.attention_op\nranks with 0: model.attention_op\n",
        "ranks with errors: none\nranks with warnings: 3\n",
        "rank 0: model.attention_op\n",
    ],
)
def test_one_place_is_no_party(rows: str, tmp_path: Path) -> None:
    found = judged(tmp_path, stacks_of_all_ranks_after_300_s=rows).findings
    assert "ranks-stand-apart" not in {one.rule for one in found}
