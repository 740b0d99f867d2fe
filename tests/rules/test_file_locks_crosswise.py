"""Lists of file locks in which processes wait for locks of each other, and those in which somebody may go on."""

from __future__ import annotations

import pathlib

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis

RULE = "file-locks-crosswise"
ROWS = """$ cat /proc/locks
1: FLOCK  ADVISORY  WRITE 5109 fe:00:2344860 0 EOF
1: -> FLOCK  ADVISORY  WRITE 5108 fe:00:2344860 0 EOF
2: FLOCK  ADVISORY  WRITE {} fe:00:2344846 0 EOF
2: -> FLOCK  ADVISORY  WRITE 5109 fe:00:2344846 0 EOF
3: POSIX  ADVISORY  READ 881 fe:00:2344001 128 128
"""
LISTED = """COMMAND           PID  TYPE SIZE MODE   M START END PATH
python3          5109 FLOCK   0B WRITE  0     0   0 /data/a.lock
python3          5108 FLOCK      WRITE* 0     0   0 /data/a.lock
python3          {} FLOCK   0B WRITE  0     0   0 /data/b.lock
python3          5109 FLOCK   0B WRITE* 0     0   0 /data/b.lock
"""
DUMP = """Process {}: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {} (idle): "MainThread"
    save (train.py:6)
    <module> (train.py:9)
"""


def judged(folder: pathlib.Path, listing: str) -> Diagnosis:
    for pid in (5108, 5109):
        (folder / f"{pid}.txt").write_text(DUMP.format(pid, pid))
    (folder / "locks.txt").write_text(listing)
    return pipeline.judge(gather([folder]), 30.0)


@pytest.mark.parametrize("listing", [ROWS, LISTED])
def test_locks_that_are_held_and_wanted_in_a_circle(tmp_path: pathlib.Path, listing: str) -> None:
    found = judged(tmp_path, listing.format(5108))
    assert found.verdict is not None
    assert (found.findings[0].rule, found.verdict.cls) == (RULE, "lock-order-deadlock")
    assert sorted(one.ref.pid for one in found.findings[0].processes) == [5108, 5109]


@pytest.mark.parametrize("listing", [ROWS, LISTED])
def test_whoever_waits_for_one_that_waits_for_a_third_makes_no_circle(tmp_path: pathlib.Path, listing: str) -> None:
    """The third one gives its lock back when it likes."""
    assert RULE not in {one.rule for one in judged(tmp_path, listing.format(7001)).findings}


def test_lists_of_two_moments_are_read_apart(tmp_path: pathlib.Path) -> None:
    """What one waits for now the other one may have held before."""
    first, last = ROWS.format(5108).split("2: FLOCK")
    other = f"2: FLOCK{last}".replace("2: ", "1: ")
    assert RULE not in {one.rule for one in judged(tmp_path, first + other).findings}
    assert RULE in {one.rule for one in judged(tmp_path, first + f"2: FLOCK{last}" + first).findings}
