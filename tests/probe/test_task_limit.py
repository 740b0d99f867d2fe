"""How many processes a control group allows: the tightest group above a process counts, in both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.model.evidence.task_limit import TaskLimit
from rankscope.probe.collectors.task_limit import tightest


def group(folder: Path, limit: str, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pids.max").write_text(f"{limit}\n")
    (folder / "pids.current").write_text(f"{count}\n")


@pytest.mark.parametrize(("version", "top"), [(1, "pids"), (2, ".")])
def test_the_group_with_the_least_room_is_told(tmp_path: Path, version: int, top: str) -> None:
    group(tmp_path / top / "pod", "113", 113)
    group(tmp_path / top / "pod" / "job", "997", 13)
    group(tmp_path / top / "pod" / "job" / "step", "max", 11)
    found = tightest(version, "/pod/job/step", str(tmp_path))
    assert found == TaskLimit("/pod", 113, 113)
    assert found.full


def test_groups_without_a_limit_tell_nothing(tmp_path: Path) -> None:
    group(tmp_path / "job", "max", 13)
    assert tightest(2, "/job", str(tmp_path)) is None
