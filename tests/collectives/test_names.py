"""A rank is taken from a name only when the name means one."""

from __future__ import annotations

import pytest

from rankscope.formats.names import rank_from_names


@pytest.mark.parametrize(("name", "rank"), [
    ("nccl_trace_rank_5", 5), ("comm_lib_trace_rank_12", 12), ("_dump_0", 0), ("dump_3.json", 3), ("rank3.txt", 3),
    ("TP1", 1), ("stack-TP0.log", 0), ("run7/rank_2/stack.txt", 2), ("trace_14", 14), ("rank-4.pickle", 4), ("Rank 6", 6),
    ("fr/global_rank=9", 9), ("rank_0.locals.txt", 0), ("frank7", None), ("step_100", None), ("h100_log", None),
    ("trace_20240131120000", None),
])  # fmt: skip
def test_a_word_before_the_number_makes_it_a_rank(name, rank):
    assert rank_from_names([name]).get(name) == rank


def test_one_varying_number_over_a_directory_is_the_rank():
    names = [f"job8812/fr.{number}.pkl" for number in (0, 1, 2, 10)]
    assert list(rank_from_names(names).values()) == [0, 1, 2, 10]


@pytest.mark.parametrize(
    "names", [["a_1_1", "a_1_2", "a_2_1"], ["x1.txt"], ["node1.txt", "other2.txt"], ["x#.pkl", "x1.pkl"]]
)
def test_an_unclear_pattern_says_nothing(names):
    assert rank_from_names(names) == {}


def test_the_rank_is_last_where_names_hold_the_host_too():
    names = ["trace-node02_5", "trace-node02_6", "trace-node07_40"]
    assert rank_from_names(names) == dict(zip(names, (5, 6, 40), strict=True))
    assert rank_from_names(["run3_a1.txt", "run4_a1.txt", "run5_a2.txt"]) == {}
