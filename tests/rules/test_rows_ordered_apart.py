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


def lines(sizes: dict[int, str], call: str = "nccl:_reduce_scatter_base", state: str = "started") -> str:
    return "".join(
        f"[rank{rank}] pg: dp_cp seq=41 profiling_name={call} state={state}\n    input_sizes=[[{size}]] dtype=Half\n"
        for rank, size in sizes.items()
    )


def test_entries_told_line_by_line_are_compared(tmp_path: Path) -> None:
    (one,) = found(tmp_path, lines({0: "640, 8", 1: "640, 8", 2: "512, 8"}))
    assert (one.cls, one.certainty.value, one.ranks) == ("collective-mismatch", "likely", RankSet([2]))
    # Of several that differ, all may be of another group of that name.
    (some,) = found(tmp_path, lines({0: "64", 1: "64", 2: "64", 3: "8", 4: "8"}))
    assert some.certainty.value == "possible"


@pytest.mark.parametrize(
    "text",
    [
        lines({0: "640", 1: "640", 2: "640"}),
        lines({0: "640", 1: "640", 2: "512"}, call="nccl:all_to_all"),
        lines({0: "640", 1: "640", 2: "512"}, state="completed"),
        lines({0: "640", 1: "640"})
        + "[rank2] pg: dp_cp seq=41 profiling_name=nccl:_reduce_scatter_base state=started\n",
        lines({0: "640", 1: "640"}) + lines({2: "512"}).replace("seq=41", "seq=40"),
    ],
    ids=["alike", "each brings its own", "it is over", "of one no size is told", "of one another number"],
)
def test_entries_that_need_not_be_alike_tell_nothing(text: str, tmp_path: Path) -> None:
    assert not found(tmp_path, text)


TASK = (
    "[ERROR] HCCL({pid},python3):2025-03-02-10:00:00.000.101 [task_exception_handler.cc:486][{pid}]Task run failed, base"
    " information is streamID:[3], taskID[9], taskType[Notify Wait], tag[HcomReduceScatter_77_4].\n"
    "[ERROR] HCCL({pid},python3):2025-03-02-10:00:00.000.140 [task_exception_handler.cc:490][{pid}]Task run failed, opData"
    " information is timeStamp:[2025-03-02-09:30:00.000.140], deviceId[{rank}], index[{index}], count[{count}],"
    " reduceType[sum], src[0x1], dst[0x2], dataType[{type}].\n"
)


def plogs(folder: Path, *told: tuple[int, str, str]) -> list[Finding]:
    for rank, (index, count, kind) in enumerate(told):
        text = TASK.format(pid=900 + rank, rank=rank, index=index, count=count, type=kind)
        (folder / f"plog_rank_{rank}.txt").write_text(text)
    return list(rows_ordered_apart.check(case_of(gather([folder]))))


def test_what_the_ranks_brought_to_a_call_of_hccl_is_compared(tmp_path: Path) -> None:
    usual = (12, "4096", "bfp16")
    assert not plogs(tmp_path, usual, usual, usual)
    assert not plogs(tmp_path, usual, usual, (13, "512", "bfp16"))
    for odd in ((12, "4096", "fp32"), (12, "512", "bfp16")):
        (one,) = plogs(tmp_path, usual, odd, usual)
        assert (one.cls, one.certainty.value, one.ranks) == ("collective-mismatch", "likely", RankSet([1]))
