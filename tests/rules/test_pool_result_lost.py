"""Pools replace a worker that was killed and forget its task: who waits for the result waits for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Verdict
from rankscope.pipeline import judge

# py-spy 0.4.3 of the caller of such a pool.
CALLER = """\
Process 25179: python prep.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 25179 (idle): "MainThread"
    Condition.wait (threading.py:327)
    Event.wait (threading.py:629)
    ApplyResult.wait (multiprocessing/pool.py:765)
    ApplyResult.get (multiprocessing/pool.py:768)
    <module> (prep.py:8)
Thread 25183 (idle): "Thread-1 (_handle_workers)"
    _PollLikeSelector.select (selectors.py:415)
    wait (multiprocessing/connection.py:947)
    Pool._wait_for_updates (multiprocessing/pool.py:502)
"""
TABLE = "  PID  PPID STAT CMD\n" + "".join(f"{pid} 25179 S    python prep.py\n" for pid in (25180, 25181, 25182))
LATER = TABLE.replace("25182", "25204")
TREE = "prep.py(25179)-+-25180\n               |-25181\n"
FOREST = "python(25179)-+-python(25180)-+-python(25181)-+-python(25182)\n"
REAPED = "Nov 29 12:08:30 login3 cpu-reaper[811]: sent SIGKILL to pid {} (user lena, cpu minutes over limit 240)\n"
TRACED = "[pid 900] 12:08:30.01 kill({}, SIGKILL) = 0\n"
HANGS = "chunk 300 of 301, and it hangs there\n"


def verdict(folder: Path, *said: str) -> Verdict | None:
    for number, text in enumerate((CALLER, *said)):
        (folder / f"{number}.txt").write_text(text)
    return judge(gather([folder])).verdict


@pytest.mark.parametrize(
    "said",
    [
        (TABLE, REAPED.format(25182)),
        (TABLE, TRACED.format(25182)),
        (FOREST, REAPED.format(25182)),
        (TABLE, LATER, HANGS),
    ],
    ids=["a keeper of limits", "strace", "a tree", "two lists and words"],
)
def test_the_worker_that_had_the_task_is_gone(said: tuple[str, ...], tmp_path: Path) -> None:
    found = verdict(tmp_path, *said)
    assert found is not None
    assert (found.cls, found.certainty.value) == ("child-dead", "likely")


@pytest.mark.parametrize(
    "said",
    [
        (TABLE, REAPED.format(4711)),  # somebody else's process
        (TABLE, TABLE),
        (TABLE, LATER, "pool = Pool(3, maxtasksperchild=1)\n"),
        (TREE, REAPED.format(25170)),
        (TABLE, LATER.replace("25181", "25203").replace("25180", "25202")),  # all were renewed
    ],
    ids=["another", "the same", "renewed by the program", "no child", "all renewed"],
)
def test_pools_at_work_lost_nobody(said: tuple[str, ...], tmp_path: Path) -> None:
    found = verdict(tmp_path, *said)
    assert found is None or found.cls not in ("child-dead", "oom-kill")


def test_of_two_lists_alone_it_is_but_a_note(tmp_path: Path) -> None:
    """The program may renew its workers itself, and nobody says that it hangs."""
    assert verdict(tmp_path, TABLE, LATER) is None
    assert "pool-result-lost" in {one.rule for one in judge(gather([tmp_path])).findings}
