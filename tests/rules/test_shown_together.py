"""What stacks of several processes show together is marked as compared, so that no words make less of it."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest

from harness.known_cases import KnownCase, read
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.pipeline import judge

TEXTS = pathlib.Path(__file__).parent / "text"
TOGETHER = {
    "loader-silent": "dataloader-worker-deadlock/one-in-its-loader-the-others-in-backward",
    "pool-lost-a-worker": "child-dead/pool-put-one-in-the-place-of-another",
    "child-stands-beside-threads": "fork-with-threads/child-beside-a-thread-of-its-parent",
    "ranks-stand-apart": "collective-missed-by-rank/gloo-timed-out-in-one-console",
}


def case_of(name: str) -> KnownCase:
    return read(TEXTS / f"{name}.txt")


def found_in(case: KnownCase, folder: pathlib.Path) -> dict[str, Finding]:
    """All that is found in a case, also what is only noted, by its rules."""
    case.lay_out(folder)
    return {one.rule: one for one in judge(gather([folder])).findings}


def changed(case: KnownCase, old: str, new: str) -> KnownCase:
    """A case with other words in all of its items."""
    assert any(old in text for _, text in case.items)
    return replace(case, items=tuple((label, text.replace(old, new)) for label, text in case.items))


@pytest.mark.parametrize("rule", TOGETHER)
def test_it_is_compared(rule: str, tmp_path: pathlib.Path) -> None:
    found = found_in(case_of(TOGETHER[rule]), tmp_path)[rule]
    assert (found.kind, found.compared) == (Kind.CAUSE, True)


@pytest.mark.parametrize("rule", ["pool-lost-a-worker", "child-stands-beside-threads"])
def test_one_process_alone_does_not_show_it(rule: str, tmp_path: pathlib.Path) -> None:
    """Of a dump of the parent alone nobody knows which children there are."""
    case = case_of(TOGETHER[rule])
    assert rule not in found_in(replace(case, items=case.items[:1]), tmp_path)


def test_the_rank_in_its_loader_is_the_one_waited_for(tmp_path: pathlib.Path) -> None:
    assert str(found_in(case_of(TOGETHER["loader-silent"]), tmp_path)["loader-silent"].ranks) == "1"


def test_a_person_who_stops_a_job_meets_its_ranks_anywhere(tmp_path: pathlib.Path) -> None:
    """Tracebacks of an interrupt are compared with nothing."""
    case = case_of(TOGETHER["ranks-stand-apart"])
    lines = [
        f"[rank{line[5]}]: KeyboardInterrupt" if line.startswith("[rank") and "RuntimeError" in line else line
        for line in case.items[0][1].splitlines()
    ]
    found = found_in(replace(case, items=((case.items[0][0], "\n".join(lines)),)), tmp_path)
    assert not any(one.compared for one in found.values())


def test_the_one_of_few_that_nobody_shows_is_named(tmp_path: pathlib.Path) -> None:
    """Not those that wait for it; and nobody where few of many were looked at."""
    case = case_of("rank-never-joined/stacks-of-those-that-wait")
    (tmp_path / "few").mkdir()
    assert str(found_in(case, tmp_path / "few")["rank-not-at-meeting"].ranks) == "2"
    (tmp_path / "many").mkdir()
    many = tuple((label.replace("rank 3", "rank 60"), text) for label, text in case.items)
    assert not found_in(replace(case, items=many), tmp_path / "many")["rank-not-at-meeting"].ranks


BESIDE = case_of(TOGETHER["child-stands-beside-threads"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('Thread 8289 (idle): "MainThread"', 'Thread 8289 (active): "MainThread"'),
        ("main.<locals>.beat (solo.py:25)", "Pool._handle_workers (multiprocessing/pool.py:522)"),
        ("    main.<locals>.task (solo.py:28)", "    sleep (asyncio/tasks.py:649)"),
    ],
    ids=["the child runs", "the thread serves a pool", "the child waits in a library"],
)
def test_a_child_that_may_be_well(old: str, new: str, tmp_path: pathlib.Path) -> None:
    assert "child-stands-beside-threads" not in found_in(changed(BESIDE, old, new), tmp_path)


def test_the_child_of_another_program(tmp_path: pathlib.Path) -> None:
    """It comes from where its parent stands."""
    (label, parent), child = BESIDE.items
    other = (label, parent.replace("<module> (solo.py:70)", "<module> (other.py:9)"))
    assert "child-stands-beside-threads" not in found_in(replace(BESIDE, items=(other, child)), tmp_path)


def test_a_pool_of_one_whose_result_may_come_from_the_main_thread(tmp_path: pathlib.Path) -> None:
    case = case_of("lock-order-deadlock/pool-of-one-waits-for-itself")
    (tmp_path / "waits").mkdir()
    assert "pool-waits-for-itself" in found_in(case, tmp_path / "waits")
    ((label, text),) = case.items
    works = text.replace(
        "Condition.wait (threading.py:327)\n    Future.result (concurrent/futures/_base.py:451)\n    main", "main", 1
    )
    assert works != text
    (tmp_path / "works").mkdir()
    assert "pool-waits-for-itself" not in found_in(replace(case, items=((label, works),)), tmp_path / "works")


def test_a_time_out_of_gloo_is_no_failure_of_a_rank(tmp_path: pathlib.Path) -> None:
    assert "failed-first" not in found_in(case_of(TOGETHER["ranks-stand-apart"]), tmp_path)


POLLS = """Thread 1 (Thread 0x7f02 (LWP 7937) "python"):
#0  0x04 in __GI___poll () from /lib/libc.so.6
#1  0x05 in select_poll_poll () from /lib/libpython3.11.so
#2  0x06 in _PyEval_EvalFrameDefault () from /lib/libpython3.11.so
#3  0x07 in Py_BytesMain () from /lib/libpython3.11.so
"""
REDUCES = """Thread 1 (Thread 0x7f02 (LWP {pid}) "python"):
#0  0x04 in pthread_cond_wait () from /lib/libc.so.6
#1  0x05 in c10d::Reducer::finalize_backward() () from /lib/libtorch_cpu.so
#2  0x06 in _PyEval_EvalFrameDefault () from /lib/libpython3.11.so
#3  0x07 in Py_BytesMain () from /lib/libpython3.11.so
"""


def test_who_polls_in_native_frames_alone_is_only_possibly_in_code_of_its_own(tmp_path: pathlib.Path) -> None:
    """A loader's queue polls too."""
    for rank, text in enumerate((POLLS, REDUCES.format(pid=7938), REDUCES.format(pid=7939))):
        (tmp_path / f"rank{rank}.txt").write_text(text)
    found = {one.rule: one for one in judge(gather([tmp_path])).findings}["person-asked"]
    assert (found.certainty, str(found.ranks)) == (Certainty.POSSIBLE, "0")
    assert any("py-bt" in against for against in found.against)


def test_a_build_without_nccl_that_takes_gloo_is_well(tmp_path: pathlib.Path) -> None:
    assert "versions-differ" not in found_in(read(TEXTS / "healthy/gloo-where-nccl-is-not-built-in.txt"), tmp_path)
