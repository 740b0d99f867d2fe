"""A program that does nothing but start others that end soon; and what starts others, and gets on."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, told

from rankscope.model.diagnosis import Diagnosis, Kind, State
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Role

RULE = "starts-again-and-again"
WAIT = Frame("Popen.wait", f"{LIB}/subprocess.py", 1264)
WAITS = One((MAIN, STEP, WAIT), BlockedCall(0, "wait4", child=71), wchan="do_wait", still_s=0.1, turns=3)
NAPS = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=0.1, turns=3)
RESULT = Frame("MapResult.get", f"{LIB}/multiprocessing/pool.py", 768)
POOL = One((MAIN, STEP, RESULT, Frame("Event.wait", f"{LIB}/threading.py", 629)), BlockedCall(0, "futex"))


def supervisor(*threads: One, faults: tuple[int, int] = (9000, 9900), values: tuple[str, str] = ("3", "3"),
               name: str = "part", role: Role = Role.LAUNCHER) -> Body:  # fmt: skip
    """A process whose children have had so many page faults at the two looks, and its one local."""
    process, looks = body(70, *threads, role=role)
    out = []
    for count, value, (kernel, stacks, *rest) in zip(faults, values, looks):
        assert isinstance(kernel, Threads)
        assert isinstance(stacks, PythonStacks)
        main = dataclasses.replace(stacks.threads[0], locals=(Local(1, name, value),))
        stacks = dataclasses.replace(stacks, threads=(main, *stacks.threads[1:]))
        out.append((dataclasses.replace(kernel, reaped_faults=count, uptime_s=kernel.uptime_s - 110.0), stacks, *rest))  # type: ignore[operator]
    return process, tuple(out)


def noted(found: Diagnosis) -> bool:
    return any(one.rule == RULE and one.kind is Kind.NOTE for one in found.findings)


@pytest.mark.parametrize("thread", [WAITS, NAPS])
@pytest.mark.parametrize(("name", "values"), [("part", ("3", "3")), ("attempt", ("3", "5"))])
def test_a_program_whose_children_end_all_the_time_is_not_clean(
    thread: One, name: str, values: tuple[str, str]
) -> None:
    """Nothing tells whether they fail, so nobody is accused; a count of attempts is no progress."""
    found = told(supervisor(thread, name=name, values=values))
    assert noted(found)
    assert found.verdict is None
    assert found.evidence_weak


CHILD = body(71, One((MAIN, STEP), BlockedCall(0, "futex")), parent=70)
RANK = body(71, One((MAIN, STEP), state="R", wchan="", turns=9), parent=70, rank=0, role=Role.RANK)
WORKS = One((MAIN, STEP), state="R", wchan="", turns=9)


@pytest.mark.parametrize(("process", "beside"), [
    pytest.param(supervisor(WAITS, values=("3", "4")), (), id="its loop gets on"),
    pytest.param(supervisor(WAITS, faults=(9000, 9000)), (), id="no child has ended"),
    pytest.param(supervisor(WAITS, faults=(900, 1800)), (), id="one child has ended before"),
    pytest.param(supervisor(WAITS, faults=(-1, -1)), (), id="nothing tells"),
    pytest.param(supervisor(WAITS), (CHILD,), id="a child stays"),
    pytest.param(supervisor(WAITS), (RANK,), id="a rank lives"),
    pytest.param(supervisor(NAPS, WORKS), (), id="another thread works"),
    pytest.param(supervisor(POOL), (), id="a pool renews its workers"),
])  # fmt: skip
def test_who_gets_on_or_has_others_that_do_is_not_meant(process: Body, beside: tuple[Body, ...]) -> None:
    assert not noted(told(process, *beside))


def test_ranks_that_went_away_while_they_are_started_anew_do_not_end_the_job() -> None:
    """The agent lives, and its children have ended all the time."""
    gone = body(71, One((), state="Z", wchan=""), parent=70, rank=0, role=Role.RANK, exit_status=0)
    found = told(supervisor(WAITS), gone)
    assert found.state is not State.EXITED
    assert noted(found)
