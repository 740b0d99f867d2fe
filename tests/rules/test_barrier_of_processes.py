"""Who waits at a barrier of processes waits for the siblings that do the same work and have not come."""

from __future__ import annotations

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, told

from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.stacks import Frame

BARRIER = (
    Frame("Barrier.wait", f"{LIB}/threading.py", 690),
    Frame("Condition.wait", f"{LIB}/multiprocessing/synchronize.py", 268),
)
COMES = One((STEP, *BARRIER), BlockedCall(0, "futex", shared=True))
PARENT = body(70, One((MAIN, Frame("Process.join", f"{LIB}/multiprocessing/process.py", 149)),
                      BlockedCall(0, "wait4", child=71), wchan="do_wait"))  # fmt: skip
WRITER = Frame("write", "/job/train.py", 90)


def late(*frames: Frame) -> Body:
    return body(73, One(frames, state="R", wchan="", still_s=0.0, turns=9), parent=70)


@pytest.mark.parametrize(("other", "waits"), [
    (late(STEP, Frame("count", "/job/train.py", 60)), [(71, 73), (72, 73)]),
    (late(WRITER), []),
    (body(73, COMES, parent=70), []),
    (body(73, One((STEP,), state="Z", wchan=""), parent=70, exit_status=0), []),
])  # fmt: skip
def test_those_who_came_wait_for_those_at_the_same_work(other: Body, waits: list[tuple[int, int]]) -> None:
    """One at other work is no party, and one that has ended will not come."""
    found = told(PARENT, body(71, COMES, parent=70), body(72, COMES, parent=70), other)
    assert (
        sorted((one.waiter.pid, one.target.pid) for one in found.waits if one.target and "barrier" in one.why) == waits
    )


@pytest.mark.parametrize(("stuck", "said"), [(30.0, True), (300.0, False)])
def test_whom_they_have_waited_for_long_is_behind(stuck: float, said: bool) -> None:
    """What it does says whether that is slow or a loop without end: it is shown, and nobody is accused."""
    counts, sums = (late(STEP, Frame(name, "/job/train.py", 60)) for name in ("count", "add_up"))
    works = (counts[0], (counts[1][0], sums[1][1]))
    found = told(PARENT, body(71, COMES, parent=70), body(72, COMES, parent=70), works, stuck=stuck)
    notes = [one for one in found.findings if one.rule == "straggler"]
    assert [(one.kind, one.processes[0].ref.pid) for one in notes] == ([(Kind.NOTE, 73)] if said else [])
