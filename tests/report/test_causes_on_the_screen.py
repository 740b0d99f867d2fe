"""Causes and commands as the screen shows them: what is alike is told once, and what is typed stays one line."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind, Reason, State
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Job
from rankscope.report import screen


def cause(pid: int, where: str = "add (train.py:27)", ages: str = "4.9") -> Finding:
    return Finding(
        "thread-left-behind", "fork-with-threads", Kind.CAUSE, Certainty.LIKELY, f"pid {pid} waits in {where}",
        because=(Reason(f"its thread has not run for {ages} s"), Reason("its parent runs threads")),
        against=("it may have just come",),
    )  # fmt: skip


def shown(*causes: Finding, steps: tuple[str, ...] = ()) -> list[str]:
    made = Diagnosis(Job("torchrun"), State.STUCK, 4, RankSet(range(4)), (), None, causes, next=steps)
    return screen.render(made, width=100).splitlines()


def test_a_cause_like_the_one_before_has_its_name_alone() -> None:
    lines = shown(cause(7), cause(8, ages="3.1"))
    assert [sum(word in line for line in lines) for word in ("pid 7 ", "pid 8 ", "has not run for", "may have just come")] == [
        1, 1, 1, 1,
    ]  # fmt: skip


def test_one_that_stands_elsewhere_has_its_reasons() -> None:
    lines = shown(cause(7), cause(8, "save (train.py:31)"), cause(9, "read (train.py:40)"))
    assert sum("has not run for" in line for line in lines) == 3


@pytest.mark.parametrize("where", ["", "on node2: ", "on node2, while it runs: "])
def test_a_command_stays_one_line_wherever_it_is_typed(where: str) -> None:
    command = f"{where}py-spy record --nonblocking -d 30 -o rank2.svg -p 21555 --format speedscope --rate 200 --idle --threads"
    assert f"next     {command}" in shown(cause(7), steps=(command,))


def test_advice_is_broken_into_lines() -> None:
    advice = "look " + "again and again " * 12
    assert not any(advice in line for line in shown(cause(7), steps=(advice,)))
