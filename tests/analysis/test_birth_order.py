"""Ranks that nothing numbers, where stacks may not be read."""

from __future__ import annotations

import dataclasses

import pytest

from harness.hidden import NAP, TCP, Body, Task, job, link, tcp
from rankscope.model.process import Role
from rankscope.pipeline import case_of, judge

GLOO = Task(NAP, comm="pt_gloo_runloop")


def children(*bodies: Body) -> dict[int, int | None]:
    """Ranks by pid."""
    parent = Body(60, (Task("do_wait"),), role=Role.LAUNCHER)
    return {
        member.ref.pid: member.rank
        for member in case_of(job(parent, *bodies, launcher="plain"))
        if member.ref.pid != 60
    }


def test_children_of_a_process_group_are_ranks_in_the_order_of_their_birth() -> None:
    """Pids may wrap around; the dead have their number too."""
    first = Body(90, (Task(), GLOO), role=Role.OTHER, parent=60, started=5)
    dead = Body(70, (Task(state="Z"),), role=Role.OTHER, parent=60, started=6)
    last = Body(80, (Task(), GLOO), role=Role.OTHER, parent=60, started=7)
    assert children(last, dead, first) == {90: 0, 70: 1, 80: 2}


@pytest.mark.parametrize("talk", [True, False])
def test_children_that_talk_to_each_other_are_ranks(talk: bool) -> None:
    """Workers of a pool have no connections, and get no number."""
    one = Body(70, (Task(TCP),), role=Role.OTHER, parent=60, fds=link(1), sockets=(tcp(1, 2),) if talk else ())
    two = Body(80, (Task(TCP),), role=Role.OTHER, parent=60, fds=link(2), sockets=(tcp(2, 1),) if talk else ())
    assert children(one, two) == ({70: 0, 80: 1} if talk else {70: None, 80: None})


def test_numbers_that_are_a_guess_make_no_finding_certain() -> None:
    """A stopped process is certain; that it is rank 1 is not."""
    stopped = Task(state="T")
    ranks = (Body(70, (Task(), GLOO), role=Role.OTHER, parent=60, started=5),
             Body(80, (stopped, dataclasses.replace(GLOO, state="T")), role=Role.OTHER, parent=60, started=6),
             Body(90, (Task(), GLOO), role=Role.OTHER, parent=60, started=7))  # fmt: skip
    found = judge(job(Body(60, (Task("do_wait"),), role=Role.LAUNCHER), *ranks, launcher="plain")).findings[0]
    assert (found.rule, str(found.ranks), found.certainty.value) == ("process-stopped", "1", "likely")
    assert any("counted in the order" in text for text in found.against)
