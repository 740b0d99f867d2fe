"""Shares of an all-to-all: what one rank sends to another is what that one expects of it, entry by entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Finding
from rankscope.model.ranks import RankSet
from rankscope.pipeline import case_of, judge
from rankscope.rules.told import splits_do_not_meet

SENT = ((96, 102, 88, 98), (91, 110, 84, 99), (104, 97, 64, 101), (93, 90, 95, 106))
DROPPED = (*SENT[:2], (104, 97, 64, 64), SENT[3])
ROUTED = (*SENT[:2], (100, 101, 64, 90), SENT[3])  # one rank sends to all others what they do not expect
PRINTED = "[rank{rank}]: all_to_all input_splits={sent} output_splits={expected}\n"
TABLE = "rank {rank}: input split {sent}   output split {expected}   state started\n"
GROUP = "[default{rank}]:[ep {rank}] layer 3 in_splits={sent} out_splits={expected}\n"
MPI = "[1,{rank}]<stdout>: MPI_Alltoallv sendcounts: {sent}\n[1,{rank}]<stdout>: MPI_Alltoallv recvcounts: {expected}\n"


def expected(counts: tuple[tuple[int, ...], ...], scale: int = 1) -> list[list[int]]:
    return [[scale * row[rank] for row in counts] for rank in range(len(counts))]


def text(form: str, sent: tuple[tuple[int, ...], ...], scale: int = 1) -> str:
    pairs = enumerate(zip(sent, expected(SENT, scale)))
    return "".join(form.format(rank=rank, sent=list(mine), expected=theirs) for rank, (mine, theirs) in pairs)


def found(folder: Path, *said: str) -> list[Finding]:
    (folder / "train.log").write_text("".join(said))
    return list(splits_do_not_meet.check(case_of(gather([folder]))))


@pytest.mark.parametrize(
    "form", [PRINTED, TABLE, MPI, GROUP], ids=["printed", "a table", "MPI", "by the rank in the group"]
)
def test_a_pair_that_does_not_meet_is_named_and_blames_neither(form: str, tmp_path: Path) -> None:
    (one,) = found(tmp_path, text(form, DROPPED))
    assert one.title.startswith("rank 2 sends 64 to rank 3, which expects 101")
    assert not one.ranks


def test_who_agrees_with_nobody_is_the_odd_one(tmp_path: Path) -> None:
    (one,) = found(tmp_path, text(PRINTED, ROUTED))
    assert one.ranks == RankSet([2])


def test_the_last_of_many_calls_may_be_the_one(tmp_path: Path) -> None:
    assert found(tmp_path, text(PRINTED, SENT), text(PRINTED, DROPPED))


@pytest.mark.parametrize(
    "said",
    [
        text(PRINTED, SENT),
        text(PRINTED, SENT) * 2,
        text(PRINTED, SENT, scale=4),  # bytes beside elements
        text(PRINTED, DROPPED).split("\n", 1)[1],  # a rank of which nothing is known
        text(PRINTED, SENT)
        + text(PRINTED, DROPPED).rsplit("[", 1)[0].rsplit("\n", 2)[0],  # cut in the middle of a call
        text("rank {rank}: input size {sent} output size {expected}\n", DROPPED),  # shapes
    ],
    ids=["all meet", "twice", "other units", "one is missing", "cut", "shapes"],
)
def test_shares_that_meet_or_cannot_be_compared_say_nothing(said: str, tmp_path: Path) -> None:
    assert not found(tmp_path, said)


def test_equal_stacks_of_all_ranks_do_not_hide_it(tmp_path: Path) -> None:
    """All ranks stand in the same call because of it: nothing is wrong below the program."""
    (tmp_path / "train.log").write_text(text(PRINTED, DROPPED) + "no step for 20 minutes, the job hangs\n")
    for rank in range(4):
        (tmp_path / f"rank{rank}.txt").write_text(
            f'Process {900 + rank}: python train.py\n\nThread {900 + rank} (idle): "MainThread"\n'
            "    all_to_all_single (torch/distributed/distributed_c10d.py:4400)\n    dispatch (moe.py:203)\n"
        )
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == "collective-mismatch"
