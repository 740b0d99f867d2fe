"""Steps that are for PyTorch stay away where the evidence shows that there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis.commands import of_files
from rankscope.formats.gather import gather
from rankscope.pipeline import judge

OVER = "all 412 records written, bye\nthe process does not exit\n"
STANDS = (
    'Thread 81 (idle): "MainThread"\n    _wait_for_tstate_lock (threading.py:1132)\n    _shutdown (threading.py:1610)\n'
)


def steps(folder: Path, said: str) -> list[str]:
    """What is to be typed next, for a program that is over and does not end."""
    (folder / "console.txt").write_text(said)
    (folder / "py-spy.txt").write_text(STANDS)
    found = judge(gather([folder]))
    assert found.verdict is not None
    assert found.verdict.cls == "exit-hang"
    return [str(one) for one in of_files(found).next]


@pytest.mark.parametrize(
    ("said", "torch"),
    [
        (OVER, False),
        (OVER + "mpirun has exited on the first node\nrank 3 is left\n", False),
        (OVER + "rank 3 is left\n", True),
        (OVER + "/venv/lib/python3.11/site-packages/torch/distributed/run.py:88\n", True),
    ],
    ids=["no ranks", "ranks of MPI", "ranks of something", "torch"],
)
def test_nobody_without_torch_is_told_to_end_its_groups(said: str, torch: bool, tmp_path: Path) -> None:
    named = steps(tmp_path, said)
    assert any("destroy_process_group" in one for one in named) is torch
    assert any(one.startswith("rankscope stacks") for one in named)
