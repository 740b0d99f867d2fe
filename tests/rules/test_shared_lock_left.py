"""Locks of multiprocessing that nobody can give back, and those that look alike while somebody may."""

from __future__ import annotations

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.shared_locks import SharedLock, SharedLocks
from rankscope.model.evidence.stacks import Frame

RULE = "shared-lock-left"
ENTER = Frame("SemLock.__enter__", f"{LIB}/multiprocessing/synchronize.py", 95)
PUT = Frame("Queue.put", f"{LIB}/multiprocessing/queues.py", 88)
PARENT = body(70, One((MAIN, Frame("Process.join", f"{LIB}/multiprocessing/process.py", 149)),
                      BlockedCall(0, "wait4", child=71), wchan="do_wait"))  # fmt: skip
NAP = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=0.3, turns=9)


def waits(pid: int, *holders: int, inode: int = 5, all_told: bool = True, inner: Frame = ENTER, still_s: float = 99.0,
          address: int = 8, more: tuple[One, ...] = (), forked: bool = False) -> Body:  # fmt: skip
    lock = SharedLocks((SharedLock(pid, 8, inode, holders, 3, all_told),))
    asks = One((MAIN, STEP, inner), BlockedCall(0, "futex", address=address, shared=True), still_s=still_s)
    return body(pid, asks, *more, parent=70, forked=forked, more=(lock,))


def test_nobody_who_lives_has_it() -> None:
    """Also where the parent looks at it again and again."""
    parent = body(70, NAP)
    found = told(parent, waits(71), waits(72))
    assert (RULE, "child-dead") in causes(found)
    (cause,) = [one for one in found.findings if one.rule == RULE]
    assert [one.ref.pid for one in cause.processes] == [71, 72]


@pytest.mark.parametrize("asks", [
    pytest.param(waits(71, all_told=False), id="some count is unknown"),
    pytest.param(waits(71, 72), id="a sibling has it"),
    pytest.param(waits(71, inner=PUT), id="it is the room of a queue"),
    pytest.param(waits(71, still_s=3.0), id="it has just come"),
    pytest.param(waits(71, address=16), id="it waits for another one by now"),
    pytest.param(waits(71, 71, more=(NAP,)), id="another thread of it may have it"),
])  # fmt: skip
def test_somebody_may_give_it_back(asks: Body) -> None:
    assert RULE not in {rule for rule, _ in causes(told(PARENT, asks, body(72, NAP, parent=70)))}


def test_its_waiter_has_it_itself() -> None:
    assert (RULE, "lock-order-deadlock") in causes(told(PARENT, waits(71, 71)))


def test_a_fork_makes_no_copy_of_it() -> None:
    """The parent has threads, one of which may have had a lock of the parent's own when it forked."""
    parent = body(70, One((MAIN, Frame("Pool.map", f"{LIB}/multiprocessing/pool.py", 367))), NAP)
    assert causes(told(parent, waits(71, 71, forked=True))) == {(RULE, "lock-order-deadlock")}


def test_each_has_what_the_other_one_wants() -> None:
    said = causes(told(PARENT, waits(71, 72, inode=5), waits(72, 71, inode=6)))
    assert said == {("wait-cycle", "lock-order-deadlock")}
