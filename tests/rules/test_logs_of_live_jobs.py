"""What the log of a live job tells counts for less than what is seen of its processes, unless these show the same."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import LIB, MAIN, REDUCE, STEP, Body, job, ranks

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind
from rankscope.model.evidence.log import Logs, LogTail
from rankscope.model.evidence.space import Mount, Room, Space
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.evidence.task_limit import TaskLimit
from rankscope.pipeline import judge

OUTER = Frame("<module>", "/job/train.py", 99)
REDUCES = Stack([OUTER, MAIN, STEP, REDUCE])
FETCHES = Stack([OUTER, MAIN, Frame("fetch", "/job/train.py", 77), Frame("readinto", f"{LIB}/socket.py", 700)])
FULL = Space((Room(Mount("/scratch", "ext4", "/dev/sda1"), "cwd", 0, 1 << 30),))
NO_TASK = TaskLimit("/job", 64, 64)

SPACE = "WARNING could not write cache: [Errno 28] No space left on device: '/tmp/hf'"
OLD = {
    "disk-full": SPACE,
    "killed-for-memory": "resumed after attempt 1 (exit code: 137)",
    "limit-reached": "OSError: Too many open files; retried",
}


def told(line: str, odd: Body, rest: Stack = REDUCES, more: tuple[object, ...] = ()) -> Diagnosis:
    """Three ranks, whose log ends with a line and an ordinary one."""
    log = Logs((LogTail("/job/out.log", 1, 9, 120.0, (line, "evaluating")),))
    bodies = (dataclasses.replace(one, more=(*one.more, log)) for one in ranks(odd, stack=rest))
    return judge(job(*bodies, world=3, more=more))


def reads(**more: object) -> Body:
    """Rank 2, for which the others wait, and which waits for an answer from elsewhere."""
    return Body(72, FETCHES, rank=2, wchan="wait_woken", **more)  # type: ignore[arg-type]


def of(diagnosis: Diagnosis, rule: str) -> Finding:
    return next(one for one in diagnosis.findings if one.rule == rule and one.kind is Kind.CAUSE)


@pytest.mark.parametrize("rule", OLD)
@pytest.mark.parametrize("still_s", [2.0, 99.0])
def test_an_old_line_does_not_outrank_who_is_waited_for(rule: str, still_s: float) -> None:
    """The verdict is that of the job without its log, in class, ranks and title."""
    without = told("epoch 1", reads(still_s=still_s)).verdict
    found = told(OLD[rule], reads(still_s=still_s))
    assert without is not None
    assert found.verdict == without
    heard = of(found, rule)
    assert heard.certainty is Certainty.POSSIBLE
    assert heard.against


@pytest.mark.parametrize("rule", OLD)
def test_what_processes_would_show_is_not_believed_where_none_does(rule: str) -> None:
    """Also where all stand in one call, which messages explain best."""
    found = of(told(OLD[rule], Body(72, REDUCES, rank=2)), rule)
    assert found.certainty is Certainty.POSSIBLE


def test_an_error_of_the_network_explains_a_call_that_does_not_end() -> None:
    line = "node1:71:80 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47000> with status=12 opcode=0 vendor err 129"
    found = of(told(line, Body(72, REDUCES, rank=2)), "ib-transport")
    assert found.certainty is Certainty.LIKELY
    beside = of(told(line, reads()), "ib-transport")
    assert beside.certainty is Certainty.POSSIBLE


@pytest.mark.parametrize(
    ("rule", "more"), [("disk-full", (FULL,)), ("limit-reached", (NO_TASK,))], ids=["full mount", "no task"]
)
def test_a_line_with_which_a_process_agrees_is_likely(rule: str, more: tuple[object, ...]) -> None:
    found = of(told(OLD[rule], reads(more=more)), rule)
    assert found.certainty is Certainty.LIKELY


def test_one_cause_where_log_and_process_tell_the_same() -> None:
    """The rank that writes where nothing fits, with the line of the log among the reasons."""
    writes = Stack([OUTER, MAIN, Frame("save", "/job/train.py", 50)])
    full = Space((Room(Mount("/scratch", "ext4", "/dev/sda1"), "/scratch/a.ckpt", 0, 1 << 30),))
    found = told(SPACE, Body(72, writes, rank=2, wchan="hrtimer_nanosleep", more=(full,)))
    (cause,) = [one for one in found.findings if one.cls == "storage-full"]
    assert (cause.certainty, list(cause.ranks)) == (Certainty.LIKELY, [2])
    assert any(SPACE in reason.text for reason in cause.because)


def test_what_a_log_says_of_a_rank_that_is_gone_is_likely() -> None:
    """The dead say no more, and the others only wait for them."""
    log = Logs((LogTail("/job/out.log", 1, 9, 120.0, ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0",)),))
    bodies = (dataclasses.replace(one, more=(log,)) for one in (Body(70, REDUCES, rank=0), Body(71, REDUCES, rank=1)))
    snapshot = job(*bodies, world=3)
    found = of(
        judge(dataclasses.replace(snapshot, job=dataclasses.replace(snapshot.job, expected="0-2"))), "killed-for-memory"
    )
    assert found.certainty is Certainty.LIKELY


ERROR = (
    "Exception in thread Thread-1 (fill):",
    "Traceback (most recent call last):",
    '  File "/job/train.py", line 17, in fill',
    "    raise ValueError(record)",
    "ValueError: bad record 5",
)


@pytest.mark.parametrize("gone", [False, True])
def test_an_error_is_no_process_that_failed_where_none_has_ended(gone: bool) -> None:
    log = Logs((LogTail("/job/out.log", 1, 9, 120.0, ERROR),))
    rest = (Body(72, None, rank=2, state="Z"),) if gone else (reads(more=(log,)),)
    bodies = (dataclasses.replace(one, more=(*one.more, log)) for one in ranks(*rest, stack=REDUCES))
    found = judge(job(*bodies, world=3))
    title = next(one.title for one in found.findings if "ValueError" in one.title)
    assert title.startswith("a process failed first" if gone else "an error came up in a thread")
