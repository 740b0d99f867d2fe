"""Sentences about ranks are taken apart: who is meant, and what is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.sayings import sayings


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rank 0 is in a barrier, the others are in a reduce", [("0", None), ("", 2)]),
        ("7 ranks in all_reduce, one in broadcast", [("", 7), ("", 1)]),
        ("ranks 0-2 wait in barrier while rank 3 is in the loader", [("0-2", None), ("3", None)]),
        ("ranks 1, 2, 4-7: exited with a connection error", [("1-2,4-7", None)]),
        ("main process still tokenizing; other 3 ranks wait in barrier", [("0", None), ("", 3)]),
        ("seven of eight ranks are in barrier, one is in save_checkpoint", [("", 7), ("", 1)]),
        ("DETAIL: rank 4 waits in gather", [("4", None)]),
        ("module of process 0: 14 operands; module of process 5: 9 operands", [("0", None), ("5", None)]),
    ],
)
def test_subjects(line: str, expected: list[tuple[str, int | None]]) -> None:
    """Each part of a sentence has its subject: the ranks it names, or how many."""
    assert [(str(who.ranks), who.count) for who, _ in sayings(line)] == expected


@pytest.mark.parametrize("line", ["", "loss 2.31 after step 100", "pid 4410 has made 17 fewer calls", "all is well"])
def test_lines_about_nobody(line: str) -> None:
    """A line that speaks of no ranks says nothing of any."""
    assert list(sayings(line)) == []


@given(st.text(max_size=300))
def test_any_line(line: str) -> None:
    """What is said is part of the line, whatever the line is."""
    assert all(said in line for _, said in sayings(line))
