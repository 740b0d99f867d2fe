"""A rank whose own log tells of work that outlasts the limit of the others is late, and stands nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

GAVE_UP = (
    "[rank3]:[E101 12:40:49.118842201 ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=88212, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800410 milliseconds "
    "before timing out.\n"
)
COUNTS = """\
2024-01-01 12:10:47 sync: push model.tar to the bucket
2024-01-01 12:20:51 sync: part {0}/824 done
2024-01-01 12:31:02 sync: part {1}/824 done
2024-01-01 {2} sync: part {3}/824 done
"""
TOOK = "2024-01-01 12:10:47 sync: push model.tar to the bucket\n2024-01-01 12:51:31 sync: push finished in {0} s\n"
SENDS = """\
Thread 12 (active): "MainThread"
    read (ssl.py:1166)
    send (http/client.py:1000)
    put_part (sync.py:86)
    on_save (sync.py:61)
"""
WAITS = """\
Thread 13 (idle): "MainThread"
    barrier (torch/distributed/distributed_c10d.py:3703)
    on_save (sync.py:70)
"""


@pytest.mark.parametrize(
    ("log", "late"),
    [
        (COUNTS.format(96, 201, "12:41:06", 522), True),
        (COUNTS.format(96, 201, "12:38:06", 522), False),
        (COUNTS.format(96, 96, "12:41:06", 96), False),
        (TOOK.format("2444.1"), True),
        (TOOK.format("44.1"), False),
    ],
    ids=["counts on", "stopped before", "counts nothing", "took longer", "took less"],
)
def test_whose_log_outlasts_the_limit_of_the_others(log: str, late: bool, tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text(log)
    (tmp_path / "stderr.log").write_text(GAVE_UP)
    (tmp_path / "py-spy rank 0.txt").write_text(SENDS)
    (tmp_path / "py-spy rank 3.txt").write_text(WAITS)
    found = judge(gather([tmp_path]))
    assert found.verdict is not None
    assert (found.verdict.cls == "straggler-slow-rank") is late
    assert any(one.rule == "person-asked" for one in found.findings) is not late
