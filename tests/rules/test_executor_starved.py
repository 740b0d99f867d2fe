"""Threads of an executor that all wait for the event loop, and those of which one is left for what they wait for."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.stacks import Frame, LoopTask, PythonStacks, Stack

RULE = "executor-starved"
WORKER = Frame("_worker", f"{LIB}/concurrent/futures/thread.py", 83)
RESULT = (
    Frame("Future.result", f"{LIB}/concurrent/futures/_base.py", 451),
    Frame("Condition.wait", f"{LIB}/threading.py", 327),
)
IN_THREAD = Frame("to_thread", f"{LIB}/asyncio/threads.py", 25)
LOOP = One((MAIN, Frame("BaseEventLoop._run_once", f"{LIB}/asyncio/base_events.py", 1890)),
           BlockedCall(0, "epoll_wait"), wchan="ep_poll")  # fmt: skip
ASKS = One((WORKER, STEP, *RESULT), BlockedCall(0, "futex"))
RESTS = One((WORKER,), BlockedCall(0, "futex"))
WORKS = One((WORKER, STEP), state="R", wchan="", still_s=0.0, turns=9)
NEW = dataclasses.replace(ASKS, still_s=3.0)


def program(tasks: int, *threads: One, names: tuple[str, ...] = ("pool", "pool"), main: One = LOOP) -> Body:
    """An event loop of which so many tasks wait for a thread (or another main thread), and the threads of its executor."""
    process, looks = body(70, main, *threads)
    wanting = tuple(
        LoopTask(f"Task-{at}", Stack([Frame("fetch", "/job/train.py", 30 + at), IN_THREAD]), 70, "Future")
        for at in range(tasks)
    )

    def named(record: object) -> object:
        if not isinstance(record, PythonStacks):
            return record
        main, *others = record.threads
        pool = [dataclasses.replace(one, name=f"{name}_{at}") for at, (one, name) in enumerate(zip(others, names))]
        return dataclasses.replace(record, threads=(main, *pool), loop_tasks=wanting)

    return process, tuple(tuple(map(named, look)) for look in looks)


def test_more_tasks_want_a_thread_than_there_are() -> None:
    assert (RULE, "lock-order-deadlock") in causes(told(program(3, ASKS, ASKS), launcher="none"))


@pytest.mark.parametrize(("main", "found"), [
    (One((MAIN, *RESULT), BlockedCall(0, "futex")), True),
    (One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=0.3, turns=9), False),
])  # fmt: skip
def test_without_a_loop_somebody_else_may_bring_the_results(main: One, found: bool) -> None:
    """Tasks that wait for tasks of their own executor: all sleep. A thread that naps may complete a future."""
    said = causes(told(program(0, ASKS, ASKS, main=main), launcher="none"))
    assert ((RULE, "lock-order-deadlock") in said) is found


@pytest.mark.parametrize("healthy", [
    pytest.param(program(2, ASKS, ASKS), id="each task has a thread"),
    pytest.param(program(3, ASKS, RESTS), id="a thread is free"),
    pytest.param(program(3, ASKS, WORKS), id="a thread is at work"),
    pytest.param(program(3, ASKS, NEW), id="a thread has just come"),
    pytest.param(program(3, ASKS, ASKS, names=("pool", "inner")), id="the threads are of two executors"),
])  # fmt: skip
def test_somebody_is_left_for_the_tasks(healthy: Body) -> None:
    assert RULE not in {rule for rule, _ in causes(told(healthy, launcher="none"))}
