"""How much of the deadline is the nodes', and how much is kept for the verdict."""

from __future__ import annotations

import pytest

from rankscope.probe.sweep import Plan
from rankscope.reach.gather import _asking_s


@pytest.mark.parametrize(
    ("hosts", "plan", "expected_s"),
    [
        (1, Plan(2, 1.0, deadline_s=20.0), 19.993),
        (1024, Plan(2, 1.0, deadline_s=20.0), 12.832),
        (10_000, Plan(2, 1.0, deadline_s=20.0), 10.5),
        (10_000, Plan(10, 3.0, deadline_s=35.0), 31.0),
    ],
)
def test_the_more_hosts_the_more_time_is_kept_to_join_and_judge(hosts: int, plan: Plan, expected_s: float) -> None:
    """A thousand hosts took thirteen seconds; the time that the sweeps sleep is never taken from them."""
    assert _asking_s(plan, hosts) == pytest.approx(expected_s)
