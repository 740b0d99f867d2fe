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


TASK = """\
Process {pid}: /opt/conda/bin/python -m pyspark.daemon
Python v3.9.18 (/opt/conda/bin/python3.9)

Thread {pid} ({state}): "MainThread"
{inner}    train_partition (job.py:{line})
    process (pyspark/worker.py:819)

"""
AT_BARRIER = "    readinto (socket.py:704)\n    read_int (pyspark/serializers.py:596)\n    barrier (pyspark/taskcontext.py:443)\n"
PARSES, HASHES = "    parse (features.py:132)\n", "    hash_token (features.py:98)\n    parse (features.py:128)\n"


@pytest.mark.parametrize(
    ("second", "waits", "late"),
    [(HASHES, 21877, True), (PARSES, 21877, False), (HASHES, 30214, False)],
    ids=["it moves", "it stands", "the same process later"],
)
def test_a_task_that_moves_while_others_stand_at_the_barrier(
    second: str, waits: int, late: bool, tmp_path: Path
) -> None:
    """Nobody numbers the tasks of a stage as ranks; that they are two processes is enough."""
    looks = "".join(TASK.format(pid=30214, state="active", inner=inner, line=71) for inner in (PARSES, second))
    (tmp_path / "py-spy, worker of task 11, twice.txt").write_text(looks)
    (tmp_path / "py-spy, worker of task 4.txt").write_text(
        TASK.format(pid=waits, state="idle", inner=AT_BARRIER, line=77)
    )
    verdict = judge(gather([tmp_path])).verdict
    assert (verdict is not None and verdict.cls == "straggler-slow-rank") is late
