"""Ranks that set up one group at one line have not parted, wherever below it they wait; at two lines they have."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import LIB, Body, job, said

from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.snapshot import Job, Snapshot
from rankscope.pipeline import judge

OPENS = Frame("_create_c10d_store", f"{LIB}/site-packages/torch/distributed/rendezvous.py", 189)
COMES = Frame("_new_process_group_helper", f"{LIB}/site-packages/torch/distributed/distributed_c10d.py", 1900)


def meeting(line: int) -> Snapshot:
    """Rank 0 opens the store, ranks 1 and 2 come to it; rank 3 was never started, and nobody starts ranks here."""
    stands = {0: (9, OPENS), 1: (line, COMES), 2: (line, COMES)}
    bodies = (
        Body(70 + rank, Stack([Frame("begin", "/job/setup.py", at), frame]), rank=rank)
        for rank, (at, frame) in stands.items()
    )
    return dataclasses.replace(job(*bodies), job=Job("environment", world_size=4, expected="0-3"))


@pytest.mark.parametrize(("line", "parted"), [(9, False), (12, True)], ids=["one line", "two lines"])
def test_who_opens_the_store_has_not_left_the_path(line: int, parted: bool) -> None:
    assert (said(meeting(line), "rank-elsewhere-in-loop") is not None) is parted


def test_a_rank_that_nobody_starts_is_to_be_started() -> None:
    found = said(meeting(9), "rank-gone")
    assert found is not None
    assert (found.cls, list(found.ranks)) == ("rank-never-joined", [3])
    assert "RANK=3" in str(found.next[0])
    assert not any("launcher" in reason.text for reason in found.because)
    assert judge(meeting(9)).verdict is not None
