"""What a process used between the looks is told only where the time between them is known."""

from __future__ import annotations

import pytest

from rankscope.analysis.case import Member
from rankscope.analysis.load import used, used_below, watched_s, works_unseen
from rankscope.analysis.standing import stand
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role

Clock = tuple[float | None, float | None]


def member(clocks: Clock, *shares: float, below: float = 0.0) -> Member:
    """A process that was seen at two moments; its threads used this much CPU in between."""
    looks = tuple(
        {
            Threads: Threads(
                tuple(KernelThread(70 + n, "python", "S", cpu_s=5.0 + at * one, voluntary=40 * at)
                      for n, one in enumerate(shares)),
                uptime_s=clocks[at], below_cpu_s=3.0 + at * below,
            )
        }
        for at in (0, 1)
    )  # fmt: skip
    return Member(Process(ProcessRef("n1", 70, 1), Role.RANK, rank=0), looks, (True, True))


def test_shares_are_of_the_time_between_the_looks() -> None:
    seen = member((900.0, 902.0), 1.0, 0.2, below=1.0)
    assert watched_s(seen) == 2.0
    assert [(one.share, one.wakes_per_s) for one in used(seen)] == [(0.5, 20.0), (pytest.approx(0.1), 20.0)]
    assert used_below(seen) == 0.5
    assert stand(seen).busy == 0.5
    assert works_unseen(seen)


@pytest.mark.parametrize("clocks", [(None, 902.0), (900.0, None), (None, None), (900.0, 900.0)])
def test_a_look_without_a_clock_makes_no_share(clocks: Clock) -> None:
    """The whole age of a process is not the time between two looks."""
    seen = member(clocks, 1.0, below=1.0)
    assert not list(used(seen))
    assert (used_below(seen), stand(seen).busy) == (0.0, 0.0)


def test_rates_over_too_short_a_time_are_left_out() -> None:
    assert not list(used(member((900.0, 900.2), 0.1), at_least_s=0.3))


def test_what_descendants_used_is_nothing_where_they_were_not_looked_at() -> None:
    assert used_below(member((900.0, 901.0), 0.0, below=-4.0)) == 0.0
