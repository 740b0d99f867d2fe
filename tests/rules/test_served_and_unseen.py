"""Who serves hands on the next request; and what nobody showed may be what the others wait for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import case_of, judge
from rankscope.rules.told import below_the_program

STACK = 'Thread {tid} (idle): "MainThread"\n    barrier (torch/distributed/distributed_c10d.py:3900)\n    main (train.py:61)\n'


@pytest.mark.parametrize(
    ("ranks", "certainty"),
    [
        pytest.param((0, 1, 2), Certainty.LIKELY, id="all are shown"),
        pytest.param((1, 2), Certainty.POSSIBLE, id="rank 0 is not"),
        pytest.param((0, 2), Certainty.POSSIBLE, id="nor one between them"),
    ],
)
def test_who_is_not_shown_may_be_who_is_awaited(ranks: tuple[int, ...], certainty: Certainty, tmp_path: Path) -> None:
    for rank in ranks:
        (tmp_path / f"rank{rank}.txt").write_text(STACK.format(tid=500 + rank))
    (found,) = below_the_program.check(case_of(gather([tmp_path])))
    assert found.certainty is certainty
    assert ("nothing is shown" in found.title) is (certainty is Certainty.POSSIBLE)


def test_steps_and_a_process_table_are_not_enough(tmp_path: Path) -> None:
    """That processes are there, and that a log had steps, says nothing of whether they go on."""
    (tmp_path / "console.log").write_text("joined, world size 2\nstarted\n")
    (tmp_path / "ps.txt").write_text(
        "  PID STAT TIME COMMAND\n 4101 Ssl  00:02 python train.py\n 4102 Ssl  00:02 python train.py\n"
    )
    found = judge(gather([tmp_path]))
    assert found.verdict is None
    assert found.evidence_weak
