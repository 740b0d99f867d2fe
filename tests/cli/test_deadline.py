"""What --deadline means beside --sweeps and --interval."""

from __future__ import annotations

import pytest

from rankscope.cli import _options


@pytest.mark.parametrize(
    ("sweeps", "interval", "deadline", "given"),
    [(2, 1.0, 20.0, 20.0), (2, 1.0, 5.0, 5.0), (2, 0.7, 2.0, 2.0), (2, 60.0, 20.0, 68.0), (5, 3.0, 20.0, 20.0)],
)
def test_sweeps_count_within_the_deadline_unless_they_are_longer_themselves(
    sweeps: int, interval: float, deadline: float, given: float
) -> None:
    assert _options.plan(sweeps, interval, "auto", False, deadline).deadline_s == given
