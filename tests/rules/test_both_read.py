"""A parent and its child that both wait for a message of the other one, and processes that open FIFOs crosswise."""

from __future__ import annotations

import pytest
from test_one_machine import MAIN, STEP, Body, One, body, causes, told

from rankscope.model.diagnosis import Certainty, Diagnosis, Kind
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles

ASKS, ANSWERS = "pipe:[7]", "pipe:[8]"
CIRCLE = ("wait-cycle", "p2p-order-deadlock")


def reads(timed: bool = False) -> One:
    return One((MAIN, STEP), BlockedCall(0, "poll" if timed else "read", (3,), timed=timed), wchan="pipe_read")


def pair(parent: One, *more: One, child: One | None = None) -> Diagnosis:
    """A parent that writes to the one pipe and reads from the other one, and its child."""
    ends = OpenFiles((OpenFile(3, ANSWERS, "r"), OpenFile(4, ASKS, "w")))
    other = OpenFiles((OpenFile(3, ASKS, "r"), OpenFile(4, ANSWERS, "w")))
    return told(body(70, parent, *more, more=(ends,)), body(71, child or reads(), parent=70, more=(other,)))


def test_who_waits_for_the_answer_of_a_child_that_waits_for_the_question_waits_in_a_circle() -> None:
    assert CIRCLE in causes(pair(reads()))


@pytest.mark.parametrize(
    ("parent", "beside"),
    [
        pytest.param(One((MAIN, STEP), None, state="R", wchan="", still_s=0.0, turns=9), (), id="computes"),
        pytest.param(reads(), (One((MAIN, STEP), None, wchan="hrtimer_nanosleep"),), id="has a thread that may ask"),
        pytest.param(reads(timed=True), (), id="asks again"),
    ],
)
def test_a_child_that_waits_for_work_is_in_no_circle(parent: One, beside: tuple[One, ...]) -> None:
    assert CIRCLE not in causes(pair(parent, *beside))


JOINS = One((MAIN,), BlockedCall(0, "wait4", child=71), wchan="do_wait")
OPENS = One((MAIN, STEP), BlockedCall(0, "openat"), wchan="wait_for_partner")
NAPS = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep")


def openers(*ways: One) -> list[Body]:
    return [body(71 + i, one, parent=70) for i, one in enumerate(ways)]


def test_children_that_open_fifos_crosswise_are_perhaps_a_circle() -> None:
    """Somebody outside of the job may be who should open the other sides."""
    found = told(body(70, JOINS), *openers(OPENS, OPENS))
    (cause,) = [one for one in found.findings if one.kind is Kind.CAUSE]
    assert (cause.rule, cause.cls, cause.certainty) == (*CIRCLE, Certainty.POSSIBLE)


def test_where_another_child_is_left_that_may_open_the_fifo_there_is_no_circle() -> None:
    assert CIRCLE not in causes(told(body(70, JOINS), *openers(OPENS, OPENS, NAPS)))
