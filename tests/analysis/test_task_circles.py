"""Who among the tasks of an event loop waits for each other, and which of them wait for something from outside."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.analysis.frames import wait_of
from rankscope.analysis.loop_tasks import TaskView, awaited, circle, last_awaited
from rankscope.model.evidence.stacks import Frame, LoopTask, Stack

LIB = "/usr/lib/python3.12/asyncio"
WORK = Frame("work", "/job/train.py", 7)
INNER = {
    "Lock": Frame("Lock.acquire", f"{LIB}/locks.py", 113),
    "Semaphore": Frame("Semaphore.acquire", f"{LIB}/locks.py", 400),
    "wait": Frame("_wait", f"{LIB}/tasks.py", 550),
    "queue": Frame("Queue.get", f"{LIB}/queues.py", 158),
    "sleep": Frame("sleep", f"{LIB}/tasks.py", 665),
    "event": Frame("Event.wait", f"{LIB}/locks.py", 212),
    "stream": Frame("StreamReader.readline", f"{LIB}/streams.py", 560),
    "Task": WORK,
    "Future": WORK,
}


def tasks(*rows: tuple[str, tuple[int, ...]], timed: tuple[int, ...] = ()) -> tuple[TaskView, ...]:
    """Tasks by what each awaits and on which of them."""
    made = []
    for place, (what, on) in enumerate(rows):
        stack = Stack([WORK, INNER[what]])
        kind = what if what in ("Lock", "Semaphore", "Task") else "Future"
        made.append(TaskView(LoopTask(f"t{place}", stack, 7, kind, on, place in timed), wait_of(stack)))
    return tuple(made)


def round_of(*rows: tuple[str, tuple[int, ...]], timed: tuple[int, ...] = ()) -> list[str]:
    return [view.task.name for view in circle(tasks(*rows, timed=timed))]


def test_two_locks_crosswise_are_a_circle() -> None:
    """Who only waits for the two is no part of it."""
    assert round_of(("Future", (1, 2)), ("Lock", (2,)), ("Lock", (1,))) == ["t1", "t2"]


def test_a_lock_entered_twice_is_a_circle_of_one() -> None:
    """The task waits for itself."""
    assert round_of(("queue", ()), ("Lock", (1,))) == ["t1"]


def test_a_chain_that_ends_somewhere_is_none() -> None:
    """Somebody may still let go: the holder sleeps, or can run."""
    assert round_of(("Lock", (1,)), ("Lock", (2,)), ("sleep", ())) == []


def test_a_time_limit_opens_the_circle() -> None:
    """Also where somebody else in it has set it."""
    assert round_of(("Lock", (1,)), ("Lock", (0,)), timed=(1,)) == []


def test_the_limit_of_who_awaits_them_ends_them_too() -> None:
    """It cancels what it has gathered; but not who holds a lock that it wants."""
    assert round_of(("Future", (1, 2)), ("Lock", (2,)), ("Lock", (1,)), timed=(0,)) == []
    assert round_of(("Lock", (1,)), ("Lock", (2,)), ("Lock", (1,)), timed=(0,)) == ["t1", "t2"]


def test_one_holder_of_a_semaphore_is_enough_to_end_the_wait() -> None:
    """It is a circle only when all who hold it are caught; the same with the first of several tasks that ends."""
    assert round_of(("Semaphore", (1, 2)), ("Lock", (0,)), ("sleep", ())) == []
    assert round_of(("wait", (1, 2)), ("Lock", (0,)), ("sleep", ())) == []
    assert round_of(("Semaphore", (1, 2)), ("Lock", (0,)), ("Lock", (0,))) != []


def test_a_queue_is_filled_by_any_who_may() -> None:
    """Those that take from it and put back are a circle only where nobody else is left."""
    assert round_of(("queue", (1,)), ("queue", (0,))) == ["t0", "t1"]
    assert round_of(("queue", (1, 2)), ("queue", (0, 2)), ("sleep", ())) == []
    assert round_of(("queue", (1, 2)), ("queue", (0, 2)), ("Future", (0, 1))) != []  # who awaits them both


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(INNER)), st.lists(st.integers(0, 5), max_size=3)), min_size=6, max_size=6)
)
def test_each_member_of_a_circle_waits_for_the_next(rows: list[tuple[str, list[int]]]) -> None:
    """Whatever the waits are, what is called a circle is one."""
    views = tasks(*((what, tuple(on)) for what, on in rows))
    found = circle(views)
    for one, following in zip(found, (*found[1:], *found[:1]), strict=True):
        assert views.index(following) in one.task.on


def test_what_nobody_among_them_brings_is_named() -> None:
    """Not the one that gathers, not one that only sleeps."""
    views = tasks(("Future", (1, 2)), ("sleep", ()), ("queue", ()), ("event", ()))
    assert [view.task.name for view in last_awaited(views)] == ["t2"]
    assert [view.task.name for view in last_awaited(views[3:])] == ["t3"]


@pytest.mark.parametrize(
    ("what", "said"),
    [("queue", "a queue"), ("event", "an event or condition"), ("stream", "a connection"), ("Future", "a future")],
)
def test_what_a_task_awaits_is_said_in_words(what: str, said: str) -> None:
    """From its frames, or from what it awaits."""
    assert awaited(tasks((what, ()))[0]) == said
