"""What a rank did in every step tells which of those who wait for each other went astray."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.collectives.habit import left_at

STEP = ["gather", "send", "recv", "send", "recv", "reduce"]


def test_a_row_that_repeats_itself_keeps_its_habit():
    assert left_at(STEP * 5) == (30, 6)
    assert left_at(["broadcast", *STEP * 5, *STEP[:4]]) == (35, 6)


def test_a_call_that_is_left_out_shows_where_it_was():
    row = STEP * 5 + ["gather", "recv"]
    assert left_at(row) == (31, 6)


def test_a_call_more_shows_where_it_is():
    assert left_at(STEP * 4 + ["gather", "send", "send", "recv"]) == (26, 6)


def test_what_repeats_within_a_step_is_no_habit():
    """Two microbatches of a pipeline's last stage look alike; the steps around them are what counts."""
    row = [key for step in range(3) for key in ["a", "b", "c", "d", f"once {step}", *["x", "y"] * 4]]
    found = left_at(row)
    assert found is None or found[1] > 2


def test_one_step_is_no_habit():
    assert left_at(STEP) is None
    assert left_at([]) is None


@given(st.lists(st.integers(0, 5), min_size=3, max_size=9, unique=True), st.integers(3, 6), st.data())
def test_any_step_with_one_call_left_out_of_the_last_round_is_told(step, rounds, data):
    """Whatever the step is made of, the place is that of the call, or that of a like one beside it."""
    missing = data.draw(st.integers(0, len(step) - 2))
    row = step * rounds + step[:missing] + step[missing + 1 :]
    assert left_at(row) == (len(step) * rounds + missing, len(step))


@given(st.lists(st.integers(0, 3), max_size=200))
def test_any_row_has_an_answer(row):
    found = left_at(row)
    assert found is None or (0 < found[0] <= len(row) and 0 < found[1] < len(row))
