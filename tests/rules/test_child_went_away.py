"""A child that ended between the looks: of a pool it is missed, of a command that has run it is not."""

from __future__ import annotations

import dataclasses

import pytest
import test_live_rules as live

from rankscope.model.diagnosis import Finding
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.process import Role

LIB = live.LIB
FETCH = Frame("fetch", "/job/data.py", 8)
SOCKET = Stack([live.MAIN, FETCH, Frame("recv_into", f"{LIB}/socket.py", 717)])
QUEUE = Stack([live.MAIN, FETCH, Frame("Queue.get", f"{LIB}/multiprocessing/queues.py", 103),
               Frame("_ConnectionBase.recv_bytes", f"{LIB}/multiprocessing/connection.py", 216)])  # fmt: skip


def told(stack: Stack, still_s: float = 99.0, woke: bool = False) -> Finding | None:
    """What is said of rank 2 that stands here, after its only child went away."""
    parent = live.Body(72, stack, rank=2, wchan="wait_woken", still_s=still_s, cpu_s=0.01 if woke else 0.0)
    child = live.Body(90, None, Role.OTHER, parent=72, comm="du")
    job = live.job(*live.ranks(parent, world=3), child, world=3)
    last = job.sweeps[1]
    gone = dataclasses.replace(
        last,
        present=tuple(ref for ref in last.present if ref != child.ref),
        items=tuple(item for item in last.items if item.process != child.ref),
    )
    return live.said(dataclasses.replace(job, sweeps=(job.sweeps[0], gone)), "pool-lost-a-worker")


def test_a_child_that_went_is_missed_where_its_parent_has_waited_for_it() -> None:
    found = told(QUEUE)
    assert found is not None
    assert "is gone" in found.because[0].text


@pytest.mark.parametrize(
    ("stack", "still_s", "woke"),
    [
        pytest.param(SOCKET, 99.0, False, id="it reads from somebody else"),
        pytest.param(SOCKET, 2.0, False, id="it has come here since"),
        pytest.param(QUEUE, 2.0, False, id="it may have come here since"),
        pytest.param(QUEUE, 0.1, True, id="it has run since"),
    ],
)
def test_a_command_that_ended_well_is_no_child_that_died(stack: Stack, still_s: float, woke: bool) -> None:
    assert told(stack, still_s, woke) is None
