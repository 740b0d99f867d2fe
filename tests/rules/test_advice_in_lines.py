"""What a program adds to its message for every case alike is no evidence, on however many lines it stands."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

STALLED = (
    "WARNING: One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting "
    "for remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit different "
    "tensors or that only subset of ranks is submitting tensors, which will cause deadlock."
)
MISSING = "\nStalled ops: HorovodAllreduce_grads_Conv2D_17 [ready ranks: 0, 1, 3]\n"
STEPS = "".join(f"step {step} loss 2.{9 - step}\n" for step in range(1, 6))


def judged(folder: Path, text: str) -> Diagnosis:
    """One console, judged as ``rankscope analyze`` does."""
    (folder / "console.log").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize("width", [40, 72, 100, 132, 1000])
def test_a_stall_report_says_who_is_missing_and_not_that_tensors_differ(width: int, tmp_path: Path) -> None:
    found = judged(tmp_path, textwrap.fill(STALLED, width) + MISSING)
    assert found.verdict is not None
    assert found.verdict.cls == "collective-missed-by-rank"
    assert "collective-mismatch" not in {one.cls for one in found.findings}


@pytest.mark.parametrize("width", [72, 1000])
def test_a_stall_that_is_over_is_none(width: int, tmp_path: Path) -> None:
    assert judged(tmp_path, STEPS + textwrap.fill(STALLED, width) + MISSING + STEPS).verdict is None


def test_shapes_that_differ_are_told_apart_from_the_advice(tmp_path: Path) -> None:
    text = textwrap.fill(STALLED, 80) + MISSING + "rank 2 submits tensors of a different shape, it hangs\n"
    assert "collective-mismatch" in {one.cls for one in judged(tmp_path, text).findings}
