"""Two files of one command and two times of day are two looks at one process."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.evidence.stacks import PythonStacks
from rankscope.pipeline import judge

IN_CALL = 'Thread 4411 (active): "MainThread"\n    all_reduce (torch/distributed/c10d.py:2219)\n    step (loop.py:9)\n'
AT_WORK = 'Thread 4411 (active): "MainThread"\n    forward (layers.py:210)\n    step (loop.py:7)\n'


@pytest.mark.parametrize(
    ("first", "second", "processes"),
    [
        ("py-spy dump -p 4411, 10:00:05", "py-spy dump -p 4411, 10:00:25", 1),
        ("py-spy dump --pid 4411 (10:00)", "py-spy dump --pid 4411 (10:02)", 1),
        ("py-spy dump -p 4411, 10:00:05", "py-spy dump -p 4412, 10:00:25", 2),  # another process
        ("pod-0, py-spy dump -p 4411", "pod-1, py-spy dump -p 4411", 2),  # the same number in another container
        ("pod-0, py-spy dump -p 4411, 10:00", "pod-1, py-spy dump -p 4411, 10:01", 2),
    ],
)
def test_a_command_and_times_of_day_name_looks_at_one_process(
    first: str, second: str, processes: int, tmp_path: pathlib.Path
) -> None:
    (tmp_path / f"{first}.txt").write_text(IN_CALL)
    (tmp_path / f"{second}.txt").write_text(AT_WORK)
    snapshot = gather([tmp_path])
    seen = [item.process for sweep in snapshot.sweeps for item in sweep.items if isinstance(item.record, PythonStacks)]
    assert (len(seen), len(set(seen))) == (2, processes)


def test_a_process_is_not_compared_with_itself(tmp_path: pathlib.Path) -> None:
    (tmp_path / "py-spy dump -p 4411, 10:00:05.txt").write_text(IN_CALL)
    (tmp_path / "py-spy dump -p 4411, 10:00:25.txt").write_text(AT_WORK)
    diagnosis = judge(gather([tmp_path]))
    assert "rank-stuck-in-user-code" not in {finding.cls for finding in diagnosis.findings}
