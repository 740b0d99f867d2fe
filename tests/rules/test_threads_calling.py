"""Two threads of each rank that call collectives: in one group, or crosswise in two."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

HEAD = "Process {pid}: python fit.py\nPython v3.11.9 (/usr/bin/python3.11)\n\n"
MAIN = 'Thread {pid} (idle): "MainThread"\n'
ASIDE = 'Thread {tid} (idle): "writer_0"\n'
JOINS = (
    "    wait (threading.py:327)\n    result (concurrent/futures/_base.py:451)\n"
    "    drain (saver.py:61)\n    <module> (fit.py:90)\n"
)
LOADS = "    read_batch (data.py:17)\n    <module> (fit.py:70)\n"
BARRIER = (
    "    barrier (torch/distributed/distributed_c10d.py:4159)\n    validate (fit.py:55)\n    <module> (fit.py:91)\n"
)
TASK = "    run (concurrent/futures/thread.py:58)\n    _worker (concurrent/futures/thread.py:83)\n"
GATHER = "    all_gather_object (torch/distributed/distributed_c10d.py:2700)\n    publish (saver.py:40)\n" + TASK
AWAITS = "    wait (threading.py:327)\n    wait (threading.py:629)\n    publish (saver.py:37)\n" + TASK
CODE = "37      self.quiet.wait()\n40      dist.all_gather_object(names, mine, group={})\n"
OTHER = "55      dist.barrier({})\n"


def verdict(
    folder: Path, *threads: tuple[str, str], group: str = "self.names_pg", other: str = ""
) -> tuple[str, str] | None:
    for rank, (first, second) in enumerate(threads):
        pid = 300 + rank
        text = HEAD + MAIN + first + ASIDE + second
        (folder / f"rank_{rank}.txt").write_text(text.format(pid=pid, tid=pid + 500))
    (folder / "saver.py.txt").write_text(CODE.format(group))
    (folder / "fit.py.txt").write_text(OTHER.format(other))
    found = judge(gather([folder])).verdict
    return (found.cls, found.certainty.value) if found else None


def test_calls_of_two_groups_that_each_lack_who_is_in_the_other_are_a_cycle(tmp_path: Path) -> None:
    assert verdict(tmp_path, (JOINS, GATHER), (BARRIER, AWAITS), (BARRIER, GATHER)) == ("collective-cycle", "likely")


@pytest.mark.parametrize(
    ("threads", "other"),
    [
        (((JOINS, GATHER), (BARRIER, AWAITS), (BARRIER, GATHER)), "group=self.names_pg"),
        (((LOADS, GATHER), (BARRIER, GATHER), (BARRIER, GATHER)), ""),
        (((LOADS, GATHER), (BARRIER, AWAITS), (BARRIER, GATHER)), ""),
    ],
    ids=["one group", "one rank is late", "one rank is late, and for another one waits"],
)
def test_calls_that_lack_nobody_in_turn_are_none(
    threads: tuple[tuple[str, str], ...], other: str, tmp_path: Path
) -> None:
    found = verdict(tmp_path, *threads, other=other)
    assert found is None or found[0] != "collective-cycle"
    assert not other or (found is not None and found[0] == "collective-mismatch")
