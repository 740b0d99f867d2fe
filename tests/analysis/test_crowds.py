"""Many ranks that wait for many others: everybody is known, and what is kept grows with the ranks, not with their square."""

from __future__ import annotations

import dataclasses

import pytest
from test_groups_in_stacks import job

from rankscope.analysis.components import components
from rankscope.analysis.crowd import MOST_TARGETS
from rankscope.analysis.scene import absent
from rankscope.analysis.verdict import conclude
from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import case_of, judge
from rankscope.report import json_lines, screen

MANY = 4 * MOST_TARGETS


def test_each_of_many_absent_ranks_is_waited_for_by_all_who_came() -> None:
    case = case_of(job(*("" if rank % 2 else None for rank in range(MANY))))
    assert len(case.graph.waits) == MANY // 2 * MOST_TARGETS
    assert {case.by_ref[root.ref].rank for root in case.graph.roots} == set(range(0, MANY, 2))
    for root in case.graph.roots:
        assert list(root.ranks) == list(range(1, MANY, 2))
        assert [case.by_ref[wait.waiter].rank for wait in case.graph.to(root.ref)] == list(root.ranks)
        assert root.age_s == 99.0


def test_edges_that_are_not_written_are_counted() -> None:
    diagnosis = judge(job(*("" if rank % 2 else None for rank in range(MANY))))
    said = json_lines.to_dict(diagnosis)
    assert len(said["waits"]) == MANY // 2 * MOST_TARGETS
    assert len(said["waits"]) + said["waits_left_out"] == (MANY // 2) ** 2
    assert f"{said['waits_left_out']} more waits" in screen.render(diagnosis)
    for few in (job("", None, None), job("1: 0,1", "2: 1,2", None)):
        assert json_lines.to_dict(judge(few))["waits_left_out"] == 0
        assert "waits more" not in screen.render(judge(few))


def halves_and(*others: str | None) -> Snapshot:
    """Two halves that wait for each other, and for the first of the others, which is in no call."""
    return job(*(f"{rank % 2 + 1}: 0-{MANY - 1}" for rank in range(MANY - 1)), *others)


def test_of_many_those_where_chains_end_are_written_first() -> None:
    whole = halves_and(None)
    *there, gone = whole.processes
    lost = dataclasses.replace(
        whole,
        job=dataclasses.replace(whole.job, expected=f"0-{MANY - 1}"),
        processes=tuple(there),
        sweeps=tuple(
            dataclasses.replace(
                sweep,
                present=tuple(ref for ref in sweep.present if ref != gone.ref),
                items=tuple(item for item in sweep.items if item.process != gone.ref),
            )
            for sweep in whole.sweeps
        ),
    )
    case = case_of(lost)
    (root,) = [one for one in case.graph.roots if one.waiters]
    assert root.ref == absent(MANY - 1)
    assert {wait.waiter for wait in case.graph.waits if wait.target == root.ref} == set(root.waiters)


def test_who_is_one_of_many_and_waits_as_well_keeps_others_waiting() -> None:
    """What ails somebody for whom nobody waits is not why the others stand."""
    case = case_of(halves_and(None, f"3: {MANY}"))
    beside, awaited = (
        Finding("rank-gone", "dead-rank", Kind.CAUSE, Certainty.CERTAIN, f"rank {rank}", RankSet([rank]))
        for rank in (MANY, MANY - 3)
    )
    for found in ((beside, awaited), (awaited, beside)):
        assert conclude(case, found).findings[0].ranks == awaited.ranks


def test_few_are_told_one_by_one() -> None:
    case = case_of(job(*(None if rank < MOST_TARGETS else "" for rank in range(MANY))))
    assert not case.graph.shares
    assert {len(case.graph.to(root.ref)) for root in case.graph.roots} == {MANY - MOST_TARGETS}


def test_two_halves_in_calls_of_two_groups_are_one_circle() -> None:
    halves = job(*(f"{rank % 2 + 1}: 0-{MANY - 1}" for rank in range(MANY)))
    ((*circle,),) = case_of(halves).graph.cycles
    assert len(circle) == MANY
    diagnosis = judge(halves)
    assert diagnosis.verdict is not None
    assert diagnosis.verdict.cls == "collective-cycle"
    steps = [one for one in diagnosis.findings[0].because if one.process is not None]
    assert {one.process for one in steps} == set(circle)
    assert f"waits for {MANY // 2} others of the circle, such as rank 1 (" in steps[0].text


def test_a_circle_of_many_with_somebody_outside_is_a_chain() -> None:
    chain = job(*(None if not rank else f"{rank % 2 + 1}: 0-{MANY - 1}" for rank in range(MANY)))
    case = case_of(chain)
    assert not case.graph.cycles
    (root,) = [one for one in case.graph.roots if one.waiters]
    assert (case.by_ref[root.ref].rank, len(root.waiters)) == (0, MANY - 1)


@pytest.mark.parametrize("length", [1, 3000])
def test_components_of_long_chains_and_circles(length: int) -> None:
    chain = {at: [at + 1] for at in range(length)}
    assert components(chain) == [[at] for at in range(length, -1, -1)]
    circle = {at: [(at + 1) % (length + 1)] for at in range(length + 1)}
    assert [sorted(group) for group in components(circle)] == [list(range(length + 1))]


def test_a_world_beyond_all_machines_is_none() -> None:
    small = job(None, "")
    told = dataclasses.replace(small.job, world_size=2_000_000_000, expected="0-1999999999")
    case = case_of(dataclasses.replace(small, job=told))
    assert (case.world_size, list(case.ranks)) == (2, [0, 1])
