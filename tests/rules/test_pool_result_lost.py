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


def ages(*ages: str, work: str = "00:20:00", least: str = "00:00:00", parent: int = 25179) -> str:
    rows = "".join(
        f"{25180 + 40 * at} {parent} S {age} {work if age == ages[0] else least} python prep.py\n"
        for at, age in enumerate(ages)
    )
    return "  PID  PPID STAT     ELAPSED     TIME COMMAND\n" + rows


BEGAN = """\
  PID  PPID STAT                  STARTED CMD
25180 25179 S    Tue Mar  3 09:00:01 2026 python prep.py
25181 25179 S    Tue Mar  3 09:00:01 2026 python prep.py
25183 25179 S    Tue Mar  3 09:00:02 2026 python prep.py
25230 25179 S    Tue Mar  3 09:07:40 2026 python prep.py
"""
CRASH = "[Tue Mar  3 09:07:40 2026] python[{}]: segfault at 18 ip 00007f01 sp 00007ffd error 4 in _core.so[7f00+1000]\n"


@pytest.mark.parametrize(
    "said",
    [
        (ages("02:10:00", "02:10:00", "02:10:00", "01:55:12"),),
        (ages("02:10:00", "02:10:00", "02:10:00", "01:55:12", least="00:15:00"), HANGS),
        (BEGAN, CRASH.format(25182)),
    ],
    ids=["who is younger has not worked", "it hangs", "the kernel tells of a crash among them"],
)
def test_a_worker_far_younger_than_the_others_replaced_one(said: tuple[str, ...], tmp_path: Path) -> None:
    found = verdict(tmp_path, *said)
    assert found is not None
    assert (found.cls, found.certainty.value) == ("child-dead", "likely")


@pytest.mark.parametrize(
    "said",
    [
        (ages("02:10:00", "02:10:00", "02:10:00", "02:09:58"), HANGS),
        (ages("02:10:00", "02:10:00", "02:10:00", "01:55:12", parent=811), HANGS),
        (ages("02:10:00", "02:10:00", "02:10:00", "01:55:12"), "pool = Pool(3, maxtasksperchild=1)\n"),
        (ages("02:10:00", "01:55:12", "01:32:40", "00:08:00"), HANGS),
    ],
    ids=["started together", "children of another", "renewed by the program", "started as they are needed"],
)
def test_workers_as_old_as_each_other_or_of_any_age_replaced_nobody(said: tuple[str, ...], tmp_path: Path) -> None:
    verdict(tmp_path, *said)
    assert "pool-result-lost" not in {one.rule for one in judge(gather([tmp_path])).findings}


def test_a_younger_worker_that_works_is_but_possible(tmp_path: Path) -> None:
    """The program may have two pools; and a crash of a process far from them in number was none of theirs."""
    verdict(tmp_path, BEGAN, CRASH.format(31044))
    (one,) = (one for one in judge(gather([tmp_path])).findings if one.rule == "pool-result-lost")
    assert one.certainty.value == "possible"


WORKER = """\
Process {pid}: python prep.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
{does}    worker (multiprocessing/pool.py:{line})
    BaseProcess.run (multiprocessing/process.py:108)
    Popen._launch (multiprocessing/popen_fork.py:71)
    BaseProcess.start (multiprocessing/process.py:121)
    Pool._repopulate_pool_static (multiprocessing/pool.py:329)
{maker}"""
RESTS = (
    "    SemLock.__enter__ (multiprocessing/synchronize.py:95)\n    SimpleQueue.get (multiprocessing/queues.py:364)\n"
)
COMPUTES = "    clean (prep.py:31)\n"
FIRST = "    Pool.__init__ (multiprocessing/pool.py:215)\n    <module> (prep.py:6)\n"
LATE = "    Pool._maintain_pool (multiprocessing/pool.py:340)\n    Pool._handle_workers (multiprocessing/pool.py:516)\n"


def worker(pid: int, maker: str, does: str = RESTS) -> str:
    return WORKER.format(pid=pid, does=does, maker=maker, line=114 if does == RESTS else 125)


def test_a_worker_that_the_pool_made_later_replaced_one_whose_task_nobody_has(tmp_path: Path) -> None:
    found = verdict(tmp_path, worker(25180, FIRST), worker(25204, LATE))
    assert found is not None
    assert (found.cls, found.certainty.value) == ("child-dead", "likely")


@pytest.mark.parametrize(
    "said",
    [
        (worker(25180, FIRST), worker(25181, FIRST)),
        (worker(25180, FIRST, COMPUTES), worker(25204, LATE)),
        (worker(25180, LATE), worker(25204, LATE)),
        (worker(25180, FIRST), worker(25204, LATE), "pool = Pool(3, maxtasksperchild=1)\n"),
    ],
    ids=["all of the beginning", "one has a task", "all were renewed", "renewed by the program"],
)
def test_workers_by_whose_stacks_no_task_is_lost(said: tuple[str, ...], tmp_path: Path) -> None:
    verdict(tmp_path, *said)
    assert "pool-result-lost" not in {one.rule for one in judge(gather([tmp_path])).findings}


def test_a_table_of_the_children_of_one_process_needs_no_column_for_it(tmp_path: Path) -> None:
    table = ages("02:10:00", "02:10:00", "02:10:00", "01:55:12").replace("  PPID", "").replace(" 25179 ", " ")
    assert verdict(tmp_path, f"$ ps --ppid 811 -o pid,stat,etime,time,args\n{table}") is None
    found = verdict(tmp_path, f"$ ps --ppid 25179 -o pid,stat,etime,time,args\n{table}")
    assert found is not None
    assert (found.cls, found.certainty.value) == ("child-dead", "likely")


BAR = (
    "Tokenizing:  81%|########  | 13/16 [04:31<00:51, 17.1s/shard]\n"
    "[rank4]:[E701 08:40:21.801220104 ProcessGroupNCCL.cpp:632] [Rank 4] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=512, NumelOut=512, Timeout(ms)=240000) ran for 240079 milliseconds before "
    "timing out.\n"
)


@pytest.mark.parametrize(("killed", "cls"), [(25182, "child-dead"), (4711, "straggler-slow-rank")])
def test_work_whose_result_is_lost_is_not_done_slowly(killed: int, cls: str, tmp_path: Path) -> None:
    """A bar shows how far it came; that its pool lost a worker, that it comes no further."""
    found = verdict(tmp_path, TABLE, REAPED.format(killed), BAR)
    assert found is not None
    assert found.cls == cls
