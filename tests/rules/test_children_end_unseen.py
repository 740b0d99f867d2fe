"""Who ignores SIGCHLD cannot see its children end; a server that does so on purpose is well."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.stacks import Frame
from rankscope.model.evidence.threads import Threads

RULE = "children-end-unseen"
NAP = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=0.3, turns=9)
EVENT = (Frame("Event.wait", f"{LIB}/multiprocessing/synchronize.py", 349),
         Frame("Condition.wait", f"{LIB}/multiprocessing/synchronize.py", 268))  # fmt: skip
AWAITS = One((MAIN, STEP, *EVENT), BlockedCall(0, "futex", shared=True))
ACCEPTS = One(
    (MAIN, STEP, Frame("socket.accept", f"{LIB}/socket.py", 294)),
    BlockedCall(0, "accept4", (3,)),
    wchan="inet_csk_accept",
)


def ignoring(made: Body) -> Body:
    process, looks = made
    kernel = [
        dataclasses.replace(one, ignores_children=True) for look in looks for one in look if isinstance(one, Threads)
    ]
    return process, tuple((first, *look[1:]) for first, look in zip(kernel, looks))


def test_it_asks_for_ever_while_a_child_awaits_its_word() -> None:
    found = told(ignoring(body(70, NAP)), body(71, AWAITS, parent=70))
    assert (RULE, "child-dead") in causes(found)


@pytest.mark.parametrize(("parent", "child"), [
    pytest.param(body(70, NAP), AWAITS, id="its children leave their status"),
    pytest.param(ignoring(body(70, NAP)), ACCEPTS, id="its children serve"),
    pytest.param(ignoring(body(70, NAP)), dataclasses.replace(AWAITS, still_s=3.0), id="the child has just come"),
    pytest.param(ignoring(body(70, One(state="R", wchan="", still_s=0.0, turns=9))), AWAITS, id="it is at work"),
])  # fmt: skip
def test_nobody_asks_in_vain(parent: Body, child: One) -> None:
    assert RULE not in {rule for rule, _ in causes(told(parent, body(71, child, parent=70)))}
