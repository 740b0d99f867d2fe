"""Ranks that set up one group at one line have not parted, wherever below it they wait; at two lines they have."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import LIB, Body, job, said

from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.evidence.store import StoreKeys
from rankscope.model.process import Role
from rankscope.model.snapshot import Job, Snapshot
from rankscope.pipeline import judge

OPENS = Frame("_create_c10d_store", f"{LIB}/site-packages/torch/distributed/rendezvous.py", 189)
COMES = Frame("_new_process_group_helper", f"{LIB}/site-packages/torch/distributed/distributed_c10d.py", 1900)


def meeting(line: int, *script: Body, more: tuple[object, ...] = (), launcher: str = "environment") -> Snapshot:
    """Rank 0 opens the store, ranks 1 and 2 come to it; rank 3 was never started."""
    stands = {0: (9, OPENS), 1: (line, COMES), 2: (line, COMES)}
    bodies = (
        Body(70 + rank, Stack([Frame("begin", "/job/setup.py", at), frame]), rank=rank)
        for rank, (at, frame) in stands.items()
    )
    return dataclasses.replace(job(*bodies, *script, more=more), job=Job(launcher, world_size=4, expected="0-3"))


@pytest.mark.parametrize(("line", "parted"), [(9, False), (12, True)], ids=["one line", "two lines"])
def test_who_opens_the_store_has_not_left_the_path(line: int, parted: bool) -> None:
    assert (said(meeting(line), "rank-elsewhere-in-loop") is not None) is parted


SCRIPT = Body(60, None, Role.LAUNCHER)


@pytest.mark.parametrize("parents", [(), (SCRIPT,)], ids=["nobody starts ranks", "a script may leave one out"])
def test_a_rank_that_nobody_starts_is_to_be_started(parents: tuple[Body, ...]) -> None:
    found = said(meeting(9, *parents), "rank-gone")
    assert found is not None
    assert (found.cls, list(found.ranks)) == ("rank-never-joined", [3])
    assert "RANK=3" in str(found.next[0])
    assert not any("launcher" in reason.text for reason in found.because)
    assert judge(meeting(9)).verdict is not None


def test_a_launcher_that_counts_has_started_all_its_ranks() -> None:
    found = said(meeting(9, SCRIPT, launcher="torchrun"), "rank-gone")
    assert found is not None
    assert found.because[0].text.startswith("the launcher started ranks 0-3")
    assert not any("RANK=3" in str(step) for step in found.next)


@pytest.mark.parametrize(("keys", "causes"), [((1, 2), 1), ((), 1)])
def test_that_a_rank_never_came_is_one_cause(keys: tuple[int, ...], causes: int) -> None:
    """The store has no word of it, and no host has a process of it."""
    told = tuple(f"default_pg/0//cpu//0/{rank}" for rank in keys)
    store = StoreKeys("n1:29500", (*told, "init/"), len(told) + 1) if keys else None
    found = judge(meeting(9, more=(store,) if store else ()))
    never = [one for one in found.findings if one.cls == "rank-never-joined" and one.kind is Kind.CAUSE]
    assert (len(never), [list(one.ranks) for one in never[:1]]) == (causes, [[3]])
