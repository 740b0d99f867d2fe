"""Who stands elsewhere while ranks wait in a meeting: a rank that is late or has gone on, and not the process that
started them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.pipeline import judge

HEAD = 'Process {pid}: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (idle): "MainThread"\n'
MEETS = (
    "    _new_process_group_helper (torch/distributed/distributed_c10d.py:2169)\n"
    "    init_process_group (torch/distributed/distributed_c10d.py:1899)\n    main (train.py:30)\n    <module> (train.py:35)\n"
)
LOADS = "    read (dataset.py:12)\n    main (train.py:21)\n    <module> (train.py:35)\n"
REDUCES = (
    "    all_reduce (torch/distributed/distributed_c10d.py:3252)\n    main (train.py:33)\n    <module> (train.py:35)\n"
)
STARTS = "    _try_wait (subprocess.py:2004)\n    wait (subprocess.py:1264)\n    main (start.py:20)\n    <module> (start.py:35)\n"


def said(folder: Path, **stacks: str) -> Finding:
    for pid, (name, stack) in enumerate(stacks.items(), 70):
        (folder / f"{name}.txt").write_text(HEAD.format(pid=pid) + stack)
    causes = [one for one in judge(gather([folder])).findings if one.kind is Kind.CAUSE]
    return next(one for one in causes if one.cls == "rank-never-joined")


@pytest.mark.parametrize("other", [STARTS, LOADS])
def test_a_dump_without_a_number_beside_numbered_ones_is_no_rank(other: str, tmp_path: Path) -> None:
    found = said(tmp_path, rank_0_pid_70=MEETS, rank_1_pid_71=MEETS, pid_72=other)
    assert (found.certainty, found.title) == (Certainty.POSSIBLE, "a rank did not arrive at the meeting")


def test_a_rank_that_is_late_is_named_with_where_it_stands(tmp_path: Path) -> None:
    found = said(tmp_path, rank_0_pid_70=MEETS, rank_1_pid_71=MEETS, rank_2_pid_72=LOADS)
    assert (found.certainty, list(found.ranks)) == (Certainty.LIKELY, [2])
    assert found.title == "rank 2 stands before the meeting, in which the others wait"
    assert any("read" in one.text for one in found.because)


def test_a_rank_in_a_collective_has_gone_on(tmp_path: Path) -> None:
    """It has the group already of which it waits for the others."""
    found = said(tmp_path, rank_0_pid_70=MEETS, rank_1_pid_71=REDUCES, rank_2_pid_72=MEETS)
    assert found.title == "rank 1 stands in all_reduce, while the others wait in a meeting"


def test_where_no_dump_has_a_number_any_may_be_a_rank(tmp_path: Path) -> None:
    found = said(tmp_path, pid_70=MEETS, pid_71=MEETS, pid_72=LOADS)
    assert found.certainty is Certainty.LIKELY
