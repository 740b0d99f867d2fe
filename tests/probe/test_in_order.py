"""What several children say at the same time is told as one look."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.model import wire
from rankscope.model.process import ProcessRef
from rankscope.probe.in_order import InOrder

SWEEPS = 3


def begins(child: int, sweep: int, slept_s: float = 0.0) -> str:
    """How a sweep begins for one child, one process of which is there."""
    lines: list[str] = []
    writer = wire.Writer(lines.append)
    writer.sweep(sweep, 100.0 * sweep + child)
    writer.present((ProcessRef("node1", child, 5),))
    if slept_s:
        writer.slept(slept_s)
    return "".join(lines)


def told(order: InOrder, *said: tuple[int, int, bool, str]) -> list[str]:
    return [line for one in said for lines in order.take(*one) for line in lines.splitlines()]


def of_child(child: int, answers: int) -> list[tuple[int, int, bool, str]]:
    """All that a child says in a look."""
    said = []
    for sweep in range(SWEEPS):
        said.append((child, sweep, True, begins(child, sweep)))
        said += [(child, sweep, False, f"{child} {sweep} {number}\n") for number in range(answers)]
    return said


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_whatever_the_turns_a_sweep_is_told_as_a_whole_before_the_next(answers: list[int], turns: object) -> None:
    """No line is lost, none of a sweep comes before it has begun or behind the beginning of the next."""
    waiting = [of_child(child, number) for child, number in enumerate(answers)]
    order, lines = InOrder(len(answers)), []
    while left := [one for one in waiting if one]:
        lines += told(order, turns.choice(left).pop(0))  # type: ignore[attr-defined]
    assert not list(order.rest())
    at, answered = -1, []
    for line in lines:
        if line.startswith("{"):
            body = json.loads(line)
            at = body["index"] if body["is"] == "sweep" else at
        else:
            child, sweep, number = map(int, line.split())
            assert sweep == at
            answered.append((sweep, child, number))
    assert sorted(answered) == [
        (sweep, child, number)
        for sweep in range(SWEEPS)
        for child, most in enumerate(answers)
        for number in range(most)
    ]
    assert [json.loads(line)["at_s"] for line in lines if '"sweep"' in line] == [
        100.0 * sweep for sweep in range(SWEEPS)
    ]


def test_one_beginning_has_who_is_there_and_the_least_sleep() -> None:
    """Who was at work for longest says how long nobody was."""
    order = InOrder(2)
    told(order, (1, 0, True, begins(1, 0)), (0, 0, True, begins(0, 0)))
    lines = told(order, (0, 1, True, begins(0, 1, 0.7)), (1, 1, True, begins(1, 1, 0.4)))
    said = [json.loads(line) for line in lines]
    assert [one["is"] for one in said] == ["sweep", "present", "present", "slept"]
    assert said[0]["at_s"] == 100.0
    assert [one["processes"] for one in said[1:3]] == [["node1:0:5"], ["node1:1:5"]]
    assert said[3]["seconds"] == 0.4


@pytest.mark.parametrize("second", [0.0, 0.4])
def test_where_one_did_not_sleep_nobody_did(second: float) -> None:
    """One that is late goes on at once."""
    order = InOrder(2)
    told(order, (1, 0, True, begins(1, 0)), (0, 0, True, begins(0, 0)))
    lines = told(order, (0, 1, True, begins(0, 1, 0.7)), (1, 1, True, begins(1, 1, second)))
    assert any("slept" in line for line in lines) == bool(second)


def test_where_nobody_says_more_what_was_held_is_told() -> None:
    """The first child was in the second sweep already, the other one still in the first; of a third sweep, which has not begun
    for the first child, nothing can be told."""
    order = InOrder(3)
    for child in range(3):
        told(order, (child, 0, True, begins(child, 0)))
    assert not told(order, (0, 1, True, begins(0, 1)), (0, 1, False, "first\n"), (1, 1, True, begins(1, 1)))
    assert not told(order, (1, 1, False, "second\n"), (1, 2, True, begins(1, 2)), (1, 2, False, "too early\n"))
    rest = "".join(order.rest()).splitlines()
    assert [line for line in rest if not line.startswith("{")] == ["first", "second"]
    assert json.loads(rest[0])["index"] == 1
