"""Whether a thread that somebody showed twice stands elsewhere the second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis.at_work import Well, well
from rankscope.analysis.looked_twice import moved
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of

STACK = """\
Thread 11 (Thread 0x7f2c9044c700 (LWP 47)):
#0  0x00007f2c9191773d in {inner} () at ../lib/queue.c:35
#1  0x00007f2c91917740 in take_item () at ../lib/queue.c:388
#2  0x00007f2c9044b400 in serve () at ../lib/serve.c:12
"""
ROW = '  11   Thread 0x7f2c9044c700 (LWP 47) "worker"       0x00007f2c9191773d in {inner} () at ../lib/queue.c:35\n\n'


@pytest.mark.parametrize(
    ("first", "second", "moves"),
    [
        (ROW.format(inner="wait_item"), STACK.format(inner="wait_item"), False),
        (STACK.format(inner="wait_item"), STACK.format(inner="wait_item"), False),
        (STACK.format(inner="copy_item"), STACK.format(inner="wait_item"), True),
        (STACK.format(inner="wait_item"), '* 11  Thread 0x7f2c9044c700 (LWP 47) "worker" wait_item\n', False),
    ],
    ids=["a row of info threads and the stack", "the same stack", "another stack", "a row that tells no source"],
)
def test_two_looks_at_one_thread(first: str, second: str, moves: bool, tmp_path: Path) -> None:
    """A table that shows the innermost frame alone is no other place."""
    (tmp_path / "gdb").write_text(first + second)
    assert (moved(case_of(gather([str(tmp_path)]))) is not None) is moves


SPY = """\
Process 77: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 77 (idle): "MainThread"
    barrier ({0}torch/distributed/distributed_c10d.py:4810)
    evaluate ({1}train.py:51)
    <module> ({1}train.py:70)

"""


def test_two_spellings_of_one_place_are_no_movement(tmp_path: Path) -> None:
    """Two tools write the same frozen stack, each with paths of its own length."""
    (tmp_path / "rank0").write_text(
        SPY.format("", "/srv/job/") + SPY.format("/opt/venv/lib/python3.11/site-packages/", "/app/")
    )
    assert moved(case_of(gather([str(tmp_path)]))) is None


def test_a_row_beside_the_stack_of_a_worker_shows_no_job_at_work(tmp_path: Path) -> None:
    """gdb's table of threads behind the backtraces of a loader worker: one look, however many frames each part has."""
    row = '* 11  Thread 0x7f2c9044c700 (LWP 47) "worker" wait_item\n'
    (tmp_path / "dataloader_worker_gdb").write_text(STACK.format(inner="wait_item") + row)
    case = case_of(gather([str(tmp_path)]))
    assert well(case) is Well.UNKNOWN
