"""The scheduler's clock of each CPU, read off our own thread."""

from __future__ import annotations

import os

from rankscope.probe.cpu_clocks import Clocks


def test_a_clock_is_read_on_its_own_cpu_and_we_return() -> None:
    """Each CPU is visited once, and afterwards we may run where we could before."""
    before, seen = os.sched_getaffinity(0), []

    def read() -> float:
        seen.append(os.sched_getaffinity(0))
        return 1000.0 * len(seen)

    clocks = Clocks(read)
    for cpu in [*sorted(before)[:2], min(before)]:
        assert clocks.now_ms(cpu) is not None
    assert seen == [{cpu} for cpu in sorted(before)[:2]]
    assert os.sched_getaffinity(0) == before


def test_a_cpu_that_is_not_ours_has_no_clock() -> None:
    """Nor has one of a kernel that tells no moments."""
    assert Clocks(lambda: 1.0).now_ms(100_000) is None
    assert Clocks(lambda: None).now_ms(min(os.sched_getaffinity(0))) is None
