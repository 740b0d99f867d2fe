"""The list of processes comes in time, whatever some of them do."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from rankscope.model.gap import Why
from rankscope.probe import procfs
from rankscope.probe.table import read_table

STAT = "{pid} (python) S 1 {pid} {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0" + " 0" * 30


def test_many_processes_that_stand_still_cost_a_few_seconds_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty-four ranks hold their memory's lock: after some, only what never blocks is read of the rest."""
    for pid in range(100, 164):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(STAT.format(pid=pid))

    def stands_still(*_: object) -> tuple[str, ...]:
        signal.pause()
        return ()

    monkeypatch.setattr(procfs, "command", stands_still)
    began = time.monotonic()
    table = read_table("node1", str(tmp_path), deadline_s=1.0)
    assert time.monotonic() - began < 9
    blocked = [gap for gap in table.gaps if gap.why is Why.BLOCKED]
    (rest,) = (gap for gap in table.gaps if gap.why is Why.SKIPPED)
    assert len(table.seen) == 64
    assert rest.detail.startswith(f"{64 - len(blocked)} more processes")
    assert {one.comm for one in table.seen.values()} == {"python"}


def test_few_processes_that_stand_still_cost_no_other_what_is_known_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid in range(100, 110):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(STAT.format(pid=pid))
        (tmp_path / str(pid) / "environ").write_text(f"RANK={pid}")

    def stands_still(_: str, pid: int) -> tuple[str, ...]:
        if pid % 3 == 0:
            signal.pause()
        return ("python", "train.py")

    monkeypatch.setattr(procfs, "command", stands_still)
    table = read_table("node1", str(tmp_path), deadline_s=0.4)
    assert [gap.why for gap in table.gaps] == [Why.BLOCKED] * 3
    silent = {pid: one for pid, one in table.seen.items() if one.silent}
    assert set(silent) == {102, 105, 108}
    assert {(one.comm, one.parent, one.started) for one in silent.values()} == {("python", 1, 100)}
    assert {one.missing for one in silent.values()} == {Why.BLOCKED}
    assert all(one.environ == {"RANK": str(pid)} for pid, one in table.seen.items() if pid not in silent)
