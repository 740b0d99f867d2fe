"""What many ranks wrote at the same time into one file, as ``srun -l`` and its like collect it."""

from __future__ import annotations

import pathlib

from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope import pipeline
from rankscope.formats.gather import gather
from rankscope.formats.margin import margin_of
from rankscope.formats.records import Dump
from rankscope.formats.text import TextReader

WAITS = ("all_reduce (torch/distributed/distributed_c10d.py:2501)", "train (train.py:40)", "<module> (train.py:60)")
READS = ("read (socket.py:700)", "fetch (data.py:12)", "train (train.py:33)", "<module> (train.py:60)")


def dump(pid: int, stack: tuple[str, ...]) -> list[str]:
    head = [
        f"Process {pid}: python train.py",
        "Python v3.11.7 (/usr/bin/python3.11)",
        "",
        f'Thread {pid} (idle): "MainThread"',
    ]
    return [*head, *(f"    {frame}" for frame in stack)]


def rank_lines(rank: int) -> list[str]:
    return [f"{rank}: {line}" for line in dump(100 + 10 * rank, READS if rank == 2 else WAITS)]


def mixed(lines: list[list[str]], order: list[int]) -> list[str]:
    """The lines of all, each in its own order, taken as ``order`` says."""
    waiting, out = [list(some) for some in lines], []
    for turn in order:
        some = waiting[turn % len(waiting)]
        out += [some.pop(0)] if some else []
    return out + [line for some in waiting for line in some]


@given(order=st.lists(st.integers(0, 3), max_size=40), small=st.booleans())
@settings(max_examples=60)
def test_each_rank_keeps_its_own_lines(order: list[int], small: bool) -> None:
    """However the lines are mixed, every rank's stack comes out whole."""
    lines = mixed([rank_lines(rank) for rank in range(4)], order)
    reader = TextReader(small, margin=margin_of("\n".join(lines)))
    said = [one for number, line in enumerate(lines, 1) for one in reader.feed(number, line)] + list(reader.close())
    stacks = {one.rank: [frame.function for frame in one.thread.stack] for one in said if isinstance(one, Dump)}
    assert stacks == {
        rank: ["<module>", "train", "fetch", "read"] if rank == 2 else ["<module>", "train", "all_reduce"]
        for rank in range(4)
    }


def test_the_one_elsewhere_is_named(tmp_path: pathlib.Path) -> None:
    """The recipe that people use today (srun, then py-spy), read back."""
    order = [number * 7 % 4 for number in range(60)]
    (tmp_path / "srun.out").write_text("\n".join(mixed([rank_lines(rank) for rank in range(4)], order)) + "\n")
    diagnosis = pipeline.judge(gather([tmp_path]), 30.0)
    assert diagnosis.verdict is not None
    assert list(diagnosis.ranks) == [0, 1, 2, 3]
    assert list(diagnosis.verdict.ranks) == [2]


def test_a_task_with_several_processes_is_a_node(tmp_path: pathlib.Path) -> None:
    """With one task per node its number is no rank, and equal pids on two nodes are two processes."""
    lines = [f"{task}: {line}" for task in range(2) for pid in (100, 101) for line in dump(pid, WAITS)]
    (tmp_path / "all.txt").write_text("\n".join(lines) + "\n")
    found = gather([tmp_path])
    assert [(one.ref.host, one.ref.pid, one.rank) for one in found.processes] == [
        ("task0", 100, None), ("task0", 101, None), ("task1", 100, None), ("task1", 101, None)
    ]  # fmt: skip
