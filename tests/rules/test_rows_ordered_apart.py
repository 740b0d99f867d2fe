"""Rows of recorders in one table: calls that were made in another order, and calls that were missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.model.ranks import RankSet
from rankscope.pipeline import case_of
from rankscope.rules.told import rows_ordered_apart

HEAD = "rank  seq   op                in_sizes      state      created_by\n"
REDUCE, GATHER, OTHER = "nccl:all_reduce   [[8912896]]", "nccl:all_gather   [[1048576]]", "nccl:all_reduce   [[4096]]"


def table(calls: dict[int, tuple[str, ...]], first: int = 2211) -> str:
    rows = [(rank, first + at, call) for rank, made in calls.items() for at, call in enumerate(made)]
    return HEAD + "".join(f"{rank}     {seq}  {call}   started    Reducer\n" for rank, seq, call in rows)


def found(folder: Path, text: str) -> list[Finding]:
    (folder / "rows.txt").write_text(text)
    return list(rows_ordered_apart.check(case_of(gather([folder]))))


@pytest.mark.parametrize(
    "calls",
    [
        {0: (GATHER, REDUCE), 1: (REDUCE, GATHER), 2: (GATHER,), 3: (GATHER,)},
        {0: (GATHER,), 1: (REDUCE, GATHER), 2: (GATHER, REDUCE)},
    ],
    ids=["another order", "of some only one row"],
)
def test_the_rank_whose_calls_differ_is_named(calls: dict[int, tuple[str, ...]], tmp_path: Path) -> None:
    (one,) = found(tmp_path, table(calls))
    assert (one.cls, one.certainty.value) == ("collective-mismatch", "likely")
    assert one.ranks == RankSet([1])


def test_sizes_are_compared_within_a_group(tmp_path: Path) -> None:
    """Where no group is named the rows may be of two, whose numbers run beside each other."""
    text = table({0: (REDUCE,), 1: (OTHER,), 2: (REDUCE,)})
    (bare,) = found(tmp_path, text)
    (named,) = found(tmp_path, text.replace("seq ", "pg  seq ").replace("     2211", "     dp  2211"))
    assert (bare.certainty.value, named.certainty.value) == ("possible", "likely")
    apart = text.replace("seq ", "pg  seq ").replace("     2211", "     dp  2211").replace("1     dp", "1     tp")
    assert not found(tmp_path, apart)


@pytest.mark.parametrize(
    "calls",
    [
        {0: (GATHER, REDUCE), 1: (GATHER, REDUCE), 2: (GATHER, REDUCE)},
        {0: (GATHER, REDUCE), 1: (REDUCE,), 2: (GATHER, REDUCE)},
        {0: (GATHER, REDUCE, GATHER), 1: (REDUCE, GATHER), 2: (GATHER, REDUCE, GATHER)},
        {0: (REDUCE, OTHER), 1: (OTHER,), 2: (REDUCE, OTHER)},
    ],
    ids=["all alike", "one was missed", "one was missed of calls that come again", "a bucket was missed"],
)
def test_calls_alike_or_missed_are_in_no_other_order(calls: dict[int, tuple[str, ...]], tmp_path: Path) -> None:
    assert not found(tmp_path, table(calls))
