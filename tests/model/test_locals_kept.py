"""Whole numbers among the locals of frames, which come from files of strangers too."""

from __future__ import annotations

import pytest

from rankscope.analysis.identity import local_of
from rankscope.model.evidence.stacks import Frame, Local, PythonThread, Stack, Trust


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("7", 7), ("-3", -3), ("0", 0), (str(1 << 80), 1 << 80),
        ("²", None), ("٣", None), ("--3", None), ("", None), ("-", None), ("1.0", None), ("9" * 5000, None), ("True", None),
    ],
)  # fmt: skip
def test_a_value_is_a_number_where_it_is_written_as_one(value: str, number: int | None) -> None:
    assert Local(0, "step", value).number == number


@pytest.mark.parametrize("value", ["²", "9" * 5000])
def test_a_local_that_only_looks_like_a_number_is_passed_over(value: str) -> None:
    thread = PythonThread(
        7, Stack((Frame("f", "a.py", 1),)), "MainThread", Trust.EXACT, locals=(Local(0, "rank", value),)
    )
    assert local_of(thread, "a.py", "f", "rank") is None
