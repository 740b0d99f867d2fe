"""A handler of a signal that waits for a lock which the code it interrupted may have, and calls that only look like one."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, MAIN, Body, One, body, causes, told

from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks
from rankscope.model.evidence.threads import Threads

ADD, REPORT, SHOW = (
    Frame(name, "/job/train.py", line) for name, line in (("add", 17), ("report", 29), ("snapshot", 21))
)
WAITS = One((MAIN, ADD, REPORT, SHOW), BlockedCall(0, "futex", library="python3.11"))
BEGINS = Frame("_bootstrap", f"{LIB}/threading.py", 1002)
RESTS = (Frame("keep", "/job/train.py", 36), Frame("Event.wait", f"{LIB}/threading.py", 629))
KEEPS = One((BEGINS, *RESTS), BlockedCall(0, "futex", timed=True), still_s=2.9, turns=2)
WORKS = One((BEGINS, Frame("work", "/job/train.py", 50)), state="R", wchan="", still_s=0.0, turns=9)


def program(name: str = "signum", value: str = "14", beside: One = KEEPS) -> Body:
    """The main thread with one local of its third frame; signal 14 has a handler."""
    process, looks = body(70, WAITS, beside)

    def told_more(record: object) -> object:
        if isinstance(record, Threads):
            return dataclasses.replace(record, caught=(14, 33))
        if not isinstance(record, PythonStacks):
            return record
        main, *others = record.threads
        return dataclasses.replace(
            record, threads=(dataclasses.replace(main, locals=(Local(2, name, value, "int"),)), *others)
        )

    return process, tuple(tuple(map(told_more, look)) for look in looks)


def test_a_handler_waits_for_what_it_interrupted() -> None:
    assert ("locks-crosswise", "lock-order-deadlock") in causes(told(program(), launcher="none"))


@pytest.mark.parametrize("other", [
    pytest.param(program(value="15"), id="no handler of that signal"),
    pytest.param(program(name="tiles"), id="a number that is no signal's"),
    pytest.param(program(beside=WORKS), id="another thread may have it"),
])  # fmt: skip
def test_calls_that_look_like_handlers(other: Body) -> None:
    assert "locks-crosswise" not in {rule for rule, _ in causes(told(other, launcher="none"))}
