"""Processes that all sleep in what they share of multiprocessing, and those that look alike while somebody is left."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.diagnosis import Certainty
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.stacks import Frame

RULE = "nobody-left-to-wake"
SHARED = BlockedCall(0, "futex", shared=True)
CONDITION = Frame("Condition.wait", f"{LIB}/multiprocessing/synchronize.py", 268)
BARRIER = (Frame("Barrier.wait", f"{LIB}/threading.py", 690), CONDITION)
EVENT = (Frame("Event.wait", f"{LIB}/multiprocessing/synchronize.py", 349), CONDITION)
GET = (Frame("Queue.get", f"{LIB}/multiprocessing/queues.py", 102),)
JOINS = One((MAIN, Frame("Process.join", f"{LIB}/multiprocessing/process.py", 149)),
            BlockedCall(0, "wait4", child=71), wchan="do_wait")  # fmt: skip


def child(pid: int, *inner: Frame, call: BlockedCall = SHARED, **how: float) -> Body:
    return body(pid, One((MAIN, STEP, *inner), call, **how), parent=70)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inner", "cls"), [(BARRIER, "rank-stuck-in-user-code"), (EVENT, "rank-stuck-in-user-code"), ((), "child-dead")]
)
def test_everybody_sleeps_and_nobody_is_left(inner: tuple[Frame, ...], cls: str) -> None:
    found = told(body(70, JOINS), child(71, *inner), child(72, *inner))
    assert causes(found) == {(RULE, cls)}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(child(72, call=BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep"), id="sleeps"),
        pytest.param(child(72, *BARRIER, call=BlockedCall(0, "futex", shared=True, timed=True)), id="has a limit"),
        pytest.param(child(72, *GET), id="waits for an item"),
        pytest.param(child(72, *BARRIER, turns=9), id="runs now and then"),
        pytest.param(child(72, *BARRIER, still_s=3.0), id="has just come"),
        pytest.param(body(72, One((MAIN, STEP, *BARRIER), SHARED), One(), parent=70), id="has another thread"),
    ],
)  # fmt: skip
def test_somebody_is_left_who_may_wake_the_others(other: Body) -> None:
    assert RULE not in {rule for rule, _ in causes(told(body(70, JOINS), child(71, *BARRIER), other))}


TAKES = One((MAIN, STEP, *GET), BlockedCall(0, "read", (3,)), wchan="pipe_read")
FEEDS = One((Frame("Queue._feed", f"{LIB}/multiprocessing/queues.py", 231),), BlockedCall(0, "futex"))
INBOX = OpenFiles((OpenFile(3, "pipe:[5]", "r"), OpenFile(4, "pipe:[5]", "w")))
OTHERS = Outsiders((Outsider(71, "python", "S", 3, 5), Outsider(72, "python", "S", 3, 5)))
BESIDE = Outsiders((*OTHERS.found, Outsider(90, "feeder", "S", 3, 5)))


def member(pid: int, *threads: One, more: tuple[object, ...] = (INBOX,)) -> Body:
    return body(pid, *threads, parent=1 if pid == 70 else 70, more=more)


@pytest.mark.parametrize(("more", "beside", "found"), [
    ((INBOX,), FEEDS, True), ((INBOX, OTHERS), FEEDS, True), ((INBOX, BESIDE), FEEDS, False), ((), FEEDS, False),
    ((INBOX,), One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True)), False),
])  # fmt: skip
def test_a_parent_takes_from_a_queue_that_only_those_at_the_barrier_could_fill(
    more: tuple[object, ...], beside: One, found: bool
) -> None:
    """Their feeder threads have nothing to send. Somebody beside the program, and a thread that naps, may bring an item."""
    at_barrier = [member(pid, One((MAIN, STEP, *BARRIER), SHARED), beside) for pid in (71, 72)]
    said = causes(told(member(70, TAKES, more=more), *at_barrier))
    assert ((RULE, "rank-stuck-in-user-code") in said) is found


def test_handlers_of_signals_may_wake_somebody() -> None:
    bodies = [body(70, JOINS), child(71, *BARRIER), child(72, *BARRIER)]
    heeding = [(process, tuple((dataclasses.replace(kernel, caught=(2, 15)), *rest) for kernel, *rest in looks))
               for process, looks in bodies]  # fmt: skip
    (cause,) = [one for one in told(*heeding).findings if one.rule == RULE]
    assert cause.certainty is Certainty.POSSIBLE
    assert len(cause.against) == len(bodies)


def test_a_parent_that_works_may_come_to_the_barrier_itself() -> None:
    works = One((MAIN, STEP), None, state="R", wchan="", still_s=0.0, turns=9)
    assert causes(told(body(70, works), child(71, *BARRIER), child(72, *BARRIER))) == set()
