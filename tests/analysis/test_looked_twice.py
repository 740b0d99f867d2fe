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


UNNUMBERED = """\
Process 80: python prepare.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 0x7F00BCF5B740 (active): "MainThread"
    {inner} (prepare.py:51)
    <module> (prepare.py:70)
Thread 0x7EFE51FFF640 (idle): "Thread-3"
    wait (threading.py:324)
    run (tqdm/_monitor.py:60)

"""


@pytest.mark.parametrize(("second", "moves"), [("sort_rows", True), ("read_rows", False)])
def test_where_no_thread_has_a_number_names_tell_which_is_the_same(second: str, moves: bool, tmp_path: Path) -> None:
    """The helper rests at both looks, and is not the one that works."""
    (tmp_path / "rank0").write_text(UNNUMBERED.format(inner="read_rows") + UNNUMBERED.format(inner=second))
    assert (moved(case_of(gather([str(tmp_path)]))) is not None) is moves


@pytest.mark.parametrize(("number", "moves"), [(77, True), (99, False)], ids=["the same thread", "another one"])
def test_a_second_look_that_was_saved_without_its_head(number: int, moves: bool, tmp_path: Path) -> None:
    (tmp_path / "rank_0_a.txt").write_text(SPY.format("", ""))
    (tmp_path / "rank_0_b.txt").write_text(
        f'Thread {number} (active): "MainThread"\n    forward (model.py:12)\n    <module> (train.py:70)\n'
    )
    assert (moved(case_of(gather([str(tmp_path)]))) is not None) is moves


ASKS = """\
Thread 77 ({state}): "MainThread"
{inner}    await_shard (prepare.py:{line})
    <module> (prepare.py:70)

"""


@pytest.mark.parametrize(
    ("first", "second", "moves"),
    [
        (("active", "    exists (genericpath.py:19)\n", 51), ("active", "", 51), False),
        (("active", "    stat (pathlib.py:840)\n    is_file (pathlib.py:892)\n", 51), ("idle", "", 53), False),
        (("idle", "", 51), ("idle", "", 53), False),
        (("active", "", 51), ("active", "", 53), True),
        (("active", "    exists (genericpath.py:19)\n", 51), ("active", "", 68), True),
        (
            ("active", "    exists (genericpath.py:19)\n", 51),
            ("active", "    loads (json/__init__.py:346)\n", 52),
            True,
        ),
    ],
    ids=[
        "the question alone",
        "question and sleep",
        "two lines of sleep",
        "two lines at work",
        "far below",
        "other work",
    ],
)
def test_a_loop_that_asks_in_vain_gets_nowhere(
    first: tuple[str, str, int], second: tuple[str, str, int], moves: bool, tmp_path: Path
) -> None:
    """Whether it is asking or sleeping at the moment of the look is chance."""
    looks = (ASKS.format(state=state, inner=inner, line=line) for state, inner, line in (first, second))
    (tmp_path / "rank0").write_text("".join(looks))
    assert (moved(case_of(gather([str(tmp_path)]))) is not None) is moves


HEAD = 'Process 77: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 77 (idle): "MainThread"\n'


@pytest.mark.parametrize("cut", [0, 1], ids=["the first look", "the second look"])
def test_a_dump_that_was_cut_off_behind_a_head_shows_no_other_place(cut: int, tmp_path: Path) -> None:
    """There is no frame to compare."""
    looks = [HEAD + "    wait (train.py:51)\n\n"] * 2
    looks[cut] = HEAD
    (tmp_path / "twice.txt").write_text("".join(looks))
    assert moved(case_of(gather([str(tmp_path)]))) is None
