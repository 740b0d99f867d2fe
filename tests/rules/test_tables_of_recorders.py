"""What a tool shows of the calls of all ranks is no rank beside those whose stacks were seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.pipeline import case_of
from rankscope.rules.told import ranks_stand_apart

STACK = """Thread 0x7F1140 (active): "MainThread"
    {op} (torch/distributed/distributed_c10d.py:2714)
    share (job/pack.py:{line})
    run (job/loop.py:64)
"""
TABLE = """pg        seq   rank 0                          rank 1
default   11    nccl:all_reduce [[1]] completed    nccl:all_reduce [[1]] completed
default   12    nccl:broadcast [[1]] started       nccl:reduce_scatter [[1]] started
"""


def told(folder: Path, ops: dict[int, str], name: str) -> list[Finding]:
    for rank, op in ops.items():
        (folder / f"rank {rank}.txt").write_text(STACK.format(op=op, line=80 + len(op)))
    (folder / name).write_text(TABLE)
    return list(ranks_stand_apart.check(case_of(gather([folder]))))


TABLES = ["torchfrtrace of all ranks.txt", "flight recorder, last entries of the ranks.txt", "fr_trace, all ranks.txt"]


@pytest.mark.parametrize("name", TABLES)
def test_of_ranks_in_two_calls_a_table_is_no_third(name: str, tmp_path: Path) -> None:
    (found,) = told(tmp_path, {0: "broadcast", 2: "reduce_scatter"}, name)
    assert found.title.startswith("two ranks stand in different collectives")
    assert not any("all_reduce" in reason.text for reason in found.because)


@pytest.mark.parametrize("name", TABLES)
def test_ranks_in_one_call_stand_together_beside_a_table_of_earlier_calls(name: str, tmp_path: Path) -> None:
    assert not told(tmp_path, {0: "broadcast", 1: "broadcast"}, name)
