"""Who waits for a result of a pool waits for the worker that stands in its task, or in what it runs before the first one."""

from __future__ import annotations

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.diagnosis import Certainty, Diagnosis, Kind
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.stacks import Frame

WAIT = Frame("Condition.wait", f"{LIB}/threading.py", 327)
OF_POOL = (Frame("ApplyResult.get", f"{LIB}/multiprocessing/pool.py", 768), WAIT)
OF_FUTURES = (Frame("Future.result", f"{LIB}/concurrent/futures/_base.py", 451), WAIT)
BORN = (MAIN, Frame("BaseProcess._bootstrap", f"{LIB}/multiprocessing/process.py", 314))
LOOP = Frame("worker", f"{LIB}/multiprocessing/pool.py", 109)
OF_PROCESS = Frame("_process_worker", f"{LIB}/concurrent/futures/process.py", 240)
GET = Frame("SimpleQueue.get", f"{LIB}/multiprocessing/queues.py", 365)


def owner(*waits: Frame) -> Body:
    return body(70, One((MAIN, *waits), BlockedCall(0, "futex")))


def sleeps(pid: int, loop: Frame = LOOP, still_s: float = 99.0) -> Body:
    call = BlockedCall(0, "clock_nanosleep", timed=True)
    return body(pid, One((*BORN, loop, STEP), call, wchan="hrtimer_nanosleep", still_s=still_s), parent=70)


def idle(pid: int) -> Body:
    return body(pid, One((*BORN, LOOP, GET), BlockedCall(0, "read", (3,)), wchan="pipe_read"), parent=70)


def waits(found: Diagnosis) -> set[tuple[int, int]]:
    return {(wait.waiter.pid, wait.target.pid) for wait in found.waits if wait.target is not None}


@pytest.mark.parametrize(("waiting", "loop"), [(OF_POOL, LOOP), (OF_FUTURES, OF_PROCESS)])
def test_a_worker_that_stands_in_its_task_is_named_and_one_without_a_task_is_not(
    waiting: tuple[Frame, ...], loop: Frame
) -> None:
    found = told(owner(*waiting), sleeps(71, loop), idle(72))
    assert waits(found) == {(70, 71)}
    (cause,) = [one for one in found.findings if one.kind is Kind.CAUSE]
    assert (cause.rule, cause.processes[0].ref.pid) == ("rank-in-user-code", 71)
    assert cause.certainty is Certainty.POSSIBLE  # its task may be to do something by the clock


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(sleeps(72, still_s=3.0), id="has come to its place much later"),
        pytest.param(body(72, One((*BORN, LOOP, STEP), None, "R", "", 0.0, turns=9), parent=70), id="computes"),
    ],
)
def test_while_another_worker_gets_on_results_come_in(other: Body) -> None:
    assert causes(told(owner(*OF_POOL), sleeps(71), other)) == set()


def test_a_program_that_wants_no_result_waits_for_no_worker() -> None:
    computes = body(70, One((MAIN, STEP), None, "R", "", 0.0, turns=9))
    assert waits(told(computes, sleeps(71))) == set()


def test_a_task_may_be_a_server_without_a_caller() -> None:
    serves = body(71, One((*BORN, LOOP, STEP), BlockedCall(0, "accept4", (3,)), wchan="inet_csk_accept"), parent=70)
    assert causes(told(owner(*OF_POOL), serves)) == set()


def test_a_task_that_waits_for_a_message_is_likely_what_keeps_the_result_away() -> None:
    reads = body(71, One((*BORN, LOOP, STEP), BlockedCall(0, "recvfrom", (3,)), wchan="wait_woken"), parent=70)
    (cause,) = [one for one in told(owner(*OF_POOL), reads, idle(72)).findings if one.kind is Kind.CAUSE]
    assert (cause.processes[0].ref.pid, cause.certainty) == (71, Certainty.LIKELY)
