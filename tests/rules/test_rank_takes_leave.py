"""A rank that says that it exits, with a code of 0, while the others stand in a collective."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.model.ranks import RankSet
from rankscope.pipeline import judge

LOADS = "".join(f"[1,{rank}]<stdout>:dataset shard {rank}: 128 files\n" for rank in range(3))
LEAVES = "[1,3]<stdout>:dataset shard 3: 0 files matched '/data/*-of-0004', nothing to do, exiting\n"
REDUCES = (
    "#0  0x00007ff42ab11a47 in epoll_wait () from libc.so.6\n"
    "#1  0x00007ff3e82fd330 in opal_progress () from libopen-pal.so.40\n"
    "#2  0x00007ff3e8a9f1c5 in ompi_request_default_wait () from libmpi.so.40\n"
    "#3  0x00007ff3e8af8c41 in {}_intra_recursivedoubling () from libmpi.so.40\n"
)
WAITS = REDUCES.format("ompi_coll_base_allreduce")
RECEIVES = REDUCES.format("mca_pml_ob1_recv")
WATCHDOG = (
    "[rank{}]:[E1130 08:11:09.123456789 ProcessGroupNCCL.cpp:616] [Rank {}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
    "600017 milliseconds before timing out.\n"
)
REFUSES = "[rank2]: config.yaml is not found on this host, quitting now.\n"


def judged(folder: Path, *said: str) -> Diagnosis:
    for number, text in enumerate(said):
        (folder / f"{number}.txt").write_text(text)
    return judge(gather([folder]))


@pytest.mark.parametrize(
    ("said", "rank"),
    [
        ((LOADS + LEAVES, WAITS), 3),
        (("[rank0]: loads\n[rank1]: loads\n" + REFUSES + WATCHDOG.format(0, 0) + WATCHDOG.format(1, 1),), 2),
    ],
    ids=["a stack", "time-outs"],
)
def test_who_left_by_its_own_words_is_dead(said: tuple[str, ...], rank: int, tmp_path: Path) -> None:
    found = judged(tmp_path, *said).verdict
    assert found is not None
    assert (found.cls, found.ranks) == ("dead-rank", RankSet([rank]))


@pytest.mark.parametrize(
    "said",
    [
        (LOADS + LEAVES,),  # nobody waits
        (LOADS + LEAVES, RECEIVES),
        (LOADS + LEAVES + LEAVES.replace("3", "2") + LEAVES.replace("3", "1"), WAITS),  # most leave
        (LOADS + "[1,3]<stdout>:all batches done, exiting\n", WAITS),
        (LOADS + LEAVES + "[1,3]<stdout>:dataset shard 3: fell back to 12 files of /backup\n", WAITS),
    ],
    ids=["nobody waits", "no call of all", "most leave", "its work is done", "it went on"],
)
def test_words_of_leaving_alone_are_no_death(said: tuple[str, ...], tmp_path: Path) -> None:
    assert "rank-takes-leave" not in {one.rule for one in judged(tmp_path, *said).findings}


def test_who_is_seen_in_a_stack_has_not_left(tmp_path: Path) -> None:
    """It said so of a part of its work."""
    (tmp_path / "-rank3.txt").write_text('Thread 9 (idle): "MainThread"\n    wait (train.py:9)\n')
    assert "rank-takes-leave" not in {one.rule for one in judged(tmp_path, LOADS + LEAVES, WAITS).findings}
