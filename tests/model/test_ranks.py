"""Sets of ranks behave like sets, and their text can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.model.ranks import MOST_RANKS, RankSet, number_of, ranks_phrase

SETS = st.frozensets(st.integers(0, 200), max_size=40)


@given(SETS)
def test_folded_text_is_read_back(ranks: frozenset[int]) -> None:
    """What is printed can be typed."""
    assert RankSet.parse(str(RankSet(ranks))) == RankSet(ranks)


@given(SETS, SETS)
def test_it_answers_like_a_set(one: frozenset[int], other: frozenset[int]) -> None:
    """Union, intersection, difference, membership, order and size agree with Python's own sets."""
    a, b = RankSet(one), RankSet(other)
    assert list(a | b) == sorted(one | other)
    assert list(a & b) == sorted(one & other)
    assert list(a - b) == sorted(one - other)
    assert [rank in a for rank in range(-1, 202)] == [rank in one for rank in range(-1, 202)]
    assert (len(a), bool(a)) == (len(one), bool(one))
    assert (a == b) == (one == other)
    if a == b:
        assert hash(a) == hash(b)


@given(SETS, SETS, SETS)
def test_joining_does_not_depend_on_order(one: frozenset[int], other: frozenset[int], third: frozenset[int]) -> None:
    """Union is commutative and associative: hosts may join early."""
    a, b, c = RankSet(one), RankSet(other), RankSet(third)
    assert a | b == b | a
    assert (a | b) | c == a | (b | c)


@given(st.text(max_size=30))
def test_text_of_strangers_is_read_or_refused(text: str) -> None:
    """Any text is either a set of ranks or a ValueError."""
    try:
        read = RankSet.parse(text)
    except ValueError:
        return
    assert RankSet.parse(str(read)) == read


@pytest.mark.parametrize("text", ["a", "3-1", "1-", "-1", "0-3-5", "²", "0x1"])
def test_what_is_no_set_of_ranks_is_refused(text: str) -> None:
    """A mistake names what was expected."""
    with pytest.raises(ValueError, match="not a set of ranks"):
        RankSet.parse(text)


def test_a_million_neighbours_cost_two_numbers() -> None:
    """A whole machine folds into one range, without being listed."""
    everybody = RankSet.parse("0-999999")
    assert len(everybody) == 1_000_000
    assert str(everybody - RankSet([137])) == "0-136,138-999999"


def test_a_set_cannot_be_changed() -> None:
    """Records that hold it stay what they are."""
    with pytest.raises(AttributeError):
        RankSet([1])._spans = ()  # type: ignore[misc]


def test_one_rank_reads_as_one() -> None:
    """A sentence says rank for one and ranks for several."""
    assert ranks_phrase(RankSet([5])) == "rank 5"
    assert ranks_phrase(RankSet([0, 1, 2, 5])) == "ranks 0-2,5"


@given(st.integers(-5, 300), st.integers(-5, 300))
def test_a_range_is_the_set_of_its_numbers(low: int, high: int) -> None:
    """However many there are, none is counted out."""
    assert RankSet(range(low, high)) == RankSet(set(range(low, high)))
    assert len(RankSet(range(2_000_000_000))) == 2_000_000_000


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("1048576", MOST_RANKS), ("1048577", None), ("9" * 5000, None),
                                              ("-1", None), ("", None), ("²", None)])  # fmt: skip
def test_what_no_machine_has_is_no_number_of_ranks(text: str, number: int | None) -> None:
    """An environment may hold anything."""
    assert number_of(text) == number


def test_a_set_beyond_all_machines_is_refused() -> None:
    """A file may hold anything."""
    with pytest.raises(ValueError, match="at most"):
        RankSet.parse("0-2000000000")
