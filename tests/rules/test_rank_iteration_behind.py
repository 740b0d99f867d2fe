"""A number that differs on some ranks is their place in a loop where its name and how far they are apart speak for it."""

from __future__ import annotations

import pytest
from test_live_rules import Body, job, ranks, said

from rankscope.model.diagnosis import Certainty, Finding
from rankscope.model.evidence.stacks import Local
from rankscope.rules.seen.rank_iteration_behind import counts_turns


def told(odd: dict[str, int], usual: dict[str, int]) -> Finding | None:
    """What is said of five ranks in one call, of which rank 2 has other numbers."""

    def known(numbers: dict[str, int]) -> tuple[tuple[Local, ...], ...]:
        return (tuple(Local(0, name, str(value)) for name, value in numbers.items()),) * 2

    found = job(*ranks(Body(72, rank=2, locals=known(odd)), world=5, locals=known(usual)))
    return said(found, "rank-iteration-behind")


@pytest.mark.parametrize("name", ["step", "batch_idx", "global_step", "epoch", "i", "iter_num", "curStep"])
def test_one_turn_more_or_less_is_likely_another_iteration(name: str) -> None:
    found = told({name: 6}, {name: 7})
    assert found is not None
    assert (list(found.ranks), found.certainty, found.against) == ([2], Certainty.LIKELY, ())


@pytest.mark.parametrize("name", ["samples", "n_batches", "batch_size", "steps", "start_step", "verbose", "local_idx"])
def test_a_number_of_another_name_is_possible_at_most(name: str) -> None:
    """The last share of the data may be smaller."""
    found = told({name: 124}, {name: 125})
    assert found is not None
    assert found.certainty is Certainty.POSSIBLE
    assert found.against


def test_a_setting_that_is_far_from_that_of_the_others_is_no_place_in_a_loop() -> None:
    """One rank logs, for all."""
    assert told({"log_every": 10, "step": 7}, {"log_every": 0, "step": 7}) is None


@pytest.mark.parametrize(("step", "said_at_all"), [(57, True), (900_000, False)])
def test_turns_far_apart_are_possible_at_most(step: int, said_at_all: bool) -> None:
    """Ranks that wait for each other in each turn do not come far apart."""
    found = told({"step": step}, {"step": 7})
    assert (found is not None) is said_at_all
    assert found is None or found.certainty is Certainty.POSSIBLE


def test_the_number_of_the_turn_is_named_although_a_setting_comes_first() -> None:
    found = told({"shard": 124, "step": 6}, {"shard": 125, "step": 7})
    assert found is not None
    assert found.certainty is Certainty.LIKELY
    assert "step = 6 on rank 2" in found.title


@pytest.mark.parametrize("name", ["batch2", "_step", "epoch_num", "it"])
def test_names_of_turns(name: str) -> None:
    assert counts_turns(name)


@pytest.mark.parametrize("name", ["max_iter", "num_epoch", "rank", "item"])
def test_names_of_other_numbers(name: str) -> None:
    assert not counts_turns(name)
