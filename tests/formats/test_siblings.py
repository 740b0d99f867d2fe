"""Files that differ in one number are ranks where that number can mean nothing else."""

from __future__ import annotations

import pathlib

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather

STACK = 'Thread 0x7F0 (idle): "MainThread"\n    step{} (train.py:7)\n    main (train.py:9)\n'


def ranks(folder: pathlib.Path, names: list[str], body: str = STACK) -> list[int]:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(body.format(number))
    return sorted(process.rank for process in gather([folder]).processes if process.rank is not None)


@pytest.mark.parametrize(
    "name",
    [
        "worker_{}.log", "stack_{}.txt", "{}.txt", "dump-r{}.txt", "gpu{}.txt", "node0_gpu{}.txt", "job.{}.err",
        "stack.1234.{}.txt", "{}.stack", "r{}/stderr.log", "gpu{}/py-spy.txt", "rank{}/stderr", "1/rank.{}/stderr",
        "none_x1/attempt_0/{}/stderr.log",
    ],
)  # fmt: skip
def test_each_of_siblings_is_a_rank(name: str, tmp_path: pathlib.Path) -> None:
    """Launchers and people number files and folders from 0 on."""
    assert ranks(tmp_path, [name.format(rank) for rank in range(4)]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "name",
    [
        "log_202{}.txt", "step_{}.txt", "step_300{}.txt", "part-000{}", "host-{}.out", "attempt_{}/stderr.log", "train.log.{}",
        "look_{}.txt", "python3.{}/stacks.txt", "py{}.txt", "pid-{}.txt",
    ],
)  # fmt: skip
def test_other_numbers_are_no_ranks(name: str, tmp_path: pathlib.Path) -> None:
    """Years, steps, pieces, machines, attempts, looks and versions are numbered too."""
    assert ranks(tmp_path, [name.format(number) for number in range(4)]) == []


def test_a_rank_that_left_no_file_is_a_hole(tmp_path: pathlib.Path) -> None:
    """Most of the numbers are enough."""
    assert ranks(tmp_path, [f"stack_{rank}.txt" for rank in (0, 1, 3)]) == [0, 1, 3]


@pytest.mark.parametrize("numbers", [(1, 2, 3), (0, 2), (0, 9, 31)])
def test_numbers_that_do_not_count_ranks(numbers: tuple[int, ...], tmp_path: pathlib.Path) -> None:
    """They begin elsewhere, or are few of many."""
    assert ranks(tmp_path, [f"stack_{number}.txt" for number in numbers]) == []


def test_two_nodes_that_number_their_own_ranks_tell_no_rank(tmp_path: pathlib.Path) -> None:
    """The second worker of the second node is not rank 1."""
    names = [f"{node}/attempt_0/{local}/stderr.log" for node in ("node_a", "node_b") for local in range(2)]
    assert ranks(tmp_path, names) == []
    assert ranks(tmp_path / "flat", [f"node{node}_gpu{gpu}.txt" for node in range(2) for gpu in range(2)]) == []


def test_attempts_of_one_run_have_the_same_ranks(tmp_path: pathlib.Path) -> None:
    """A restart numbers the same ranks again."""
    names = [f"attempt_{attempt}/{rank}/stderr.log" for attempt in range(2) for rank in range(2)]
    assert set(ranks(tmp_path, names)) == {0, 1}


def test_looks_at_one_process_are_no_ranks(tmp_path: pathlib.Path) -> None:
    """The same process is in each; in containers, which names tell, all processes have the same number."""
    body = 'Process 41: python\nPython v3.11.4 (/usr/bin/python)\n\nThread 41 (idle): "MainThread"\n    f{} (a.py:1)\n'
    assert ranks(tmp_path / "looks", [f"dump_{look}.txt" for look in range(3)], body) == []
    assert ranks(tmp_path / "pods", [f"worker-{rank}.txt" for rank in range(3)], body) == [0, 1, 2]


def test_what_files_say_of_ranks_counts_more(tmp_path: pathlib.Path) -> None:
    """Consoles of nodes, in which several ranks speak."""
    body = "[rank5]: Traceback (most recent call last):\n[rank5]: KeyError: {}\n"
    assert 0 not in ranks(tmp_path, [f"task-{node}.log" for node in range(3)], body)


def test_what_was_said_before_a_restart_is_over(tmp_path: pathlib.Path) -> None:
    """Rank 3 failed in the first attempt; it is rank 6 that failed in the last one."""
    assert failed_of(tmp_path, (3, 6)) == ([6], 8)


def test_what_was_said_before_a_restart_counts_where_the_last_attempt_says_nothing(tmp_path: pathlib.Path) -> None:
    assert failed_of(tmp_path, (3, None)) == ([3], 0)


def failed_of(folder: pathlib.Path, attempts: tuple[int | None, ...]) -> tuple[list[int], int]:
    """The culprits where one rank of each attempt failed, and of how many files it is told that they are of an earlier one."""
    failed = 'Traceback (most recent call last):\n  File "/app/train.py", line 7, in step\n    run()\n{}\n'
    for attempt, rank in enumerate(attempts):
        for each in range(8):
            path = folder / f"none_x1/attempt_{attempt}/{each}/stderr.log"
            path.parent.mkdir(parents=True)
            path.write_text(failed.format("ValueError: bad") if each == rank else "step 1\n")
    seen = gather([folder])
    verdict = pipeline.judge(seen, 30.0).verdict
    assert verdict is not None
    assert verdict.cls == "dead-rank"
    return list(verdict.ranks), len([gap for gap in seen.gaps if "attempt_1" in gap.detail])
