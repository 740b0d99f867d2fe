"""How reasons say where a process stands, and for how long it has been waited for."""

from __future__ import annotations

import pytest
from test_live_rules import WORKS, Body, job
from test_one_machine import LIB, LOCK, LOCK_OF_PYTHON, MAIN, STEP, One, body, told

from rankscope.analysis.case import Root
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame
from rankscope.model.process import ProcessRef
from rankscope.model.ranks import RankSet
from rankscope.pipeline import case_of
from rankscope.rules._say import stands, waited_for


def test_a_place_is_said_once() -> None:
    """Where the kernel tells the kind of a wait, its frame is the job's own."""
    one = Body(70, WORKS, rank=0, wchan="do_wait")
    case = case_of(job(one))
    assert stands(case.standings[one.ref]).text.startswith("rank 0 (pid 70 on n1) is in prepare (train.py:77)")


@pytest.mark.parametrize(
    ("age_s", "ends"), [(9.0, "for it (the longest for 9.0 s)"), (0.04, "for it"), (None, "for it")]
)
def test_no_time_is_no_age(age_s: float | None, ends: str) -> None:
    root = Root(ProcessRef("n1", 70, 1), (ProcessRef("n1", 71, 1),), RankSet([1]), age_s)
    assert [one.text.endswith(ends) for one in waited_for(root)] == [True]


JOINS = One((MAIN, Frame("Thread.join", f"{LIB}/threading.py", 1119)), LOCK)
WANTS = One((Frame("write", "/job/train.py", 17),), LOCK_OF_PYTHON)


@pytest.mark.parametrize(
    ("main", "whose"), [(JOINS, "only T70 (70), or it itself, can hold"), (None, "holds it itself")]
)
def test_who_waits_for_the_thread_may_have_its_lock(main: One | None, whose: str) -> None:
    """Without an owner nothing tells which of the two took it."""
    found = told(body(70, *([main] if main else []), WANTS), launcher="none")
    assert [whose in one.title for one in found.findings if one.rule == "locks-crosswise"] == [True]


def test_a_queue_without_a_name_is_asked_by_its_descriptor() -> None:
    """Its file is gone, and its name with it."""
    files = OpenFiles((OpenFile(4, "/reports (deleted)", "rw"),))
    sends = One((MAIN, STEP), BlockedCall(0, "mq_timedsend", (4,)), wchan="wq_sleep")
    found = told(body(70, sends, more=(files,)), launcher="none")
    assert [str(one.next[0]) for one in found.findings if one.rule == "message-queue-full"] == ["cat /proc/70/fd/4"]
