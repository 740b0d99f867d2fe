"""What was not seen is told with whom it is about, in few lines."""

from __future__ import annotations

import pytest

from rankscope.model.gap import Gap, Why
from rankscope.model.process import ProcessRef
from rankscope.report.gaps import unseen


def ref(pid: int, host: str = "n1") -> ProcessRef:
    return ProcessRef(host, pid, 1)


ROSTER = {ref(70 + rank): rank for rank in range(4)}
HINT = "run as root"


def blocked(what: str, pid: int, after_s: float = 2.0) -> Gap:
    return Gap(what, Why.BLOCKED, f"no answer before the deadline ({after_s:.1f} s)", process=ref(pid))


def denied(what: str, pid: int, host: str = "n1") -> Gap:
    return Gap(what, Why.DENIED, f"/proc/{pid}/mem: not permitted", HINT, ref(pid, host))


@pytest.mark.parametrize(
    ("gaps", "told"),
    [
        pytest.param(
            [blocked("stacks", 72, 8.0), blocked("threads", 72), blocked("stacks", 72)],
            ["stacks, threads of rank 2 (pid 72 on n1): blocked (no answer before the deadline)"],
            id="one rank, asked again and again",
        ),
        pytest.param(
            [Gap(f"logs.zip/rank_{rank:02}", Why.SKIPPED, "it is encrypted") for rank in range(11)],
            [", ".join(f"logs.zip/rank_0{rank}" for rank in range(8)) + " and 3 more: skipped (it is encrypted)"],
            id="many files",
        ),
        pytest.param(
            [denied("stacks", 71), denied("stacks", 72), denied("files", 73)],
            [
                "stacks of ranks 1-2: denied (/proc/PID/mem: not permitted); run as root",
                "files of rank 3 (pid 73 on n1): denied (/proc/PID/mem: not permitted); run as root",
            ],
            id="several ranks",
        ),
        pytest.param(
            [denied("stacks", pid) for pid in (71, 90, 91)],
            ["stacks of rank 1 and pids 90-91 on n1: denied (/proc/PID/mem: not permitted); run as root"],
            id="ranks and others",
        ),
        pytest.param(
            [denied("stacks", 90, host) for host in ("n1", "n2", "n3")],
            ["stacks of 3 processes on n1, n2, n3: denied (/proc/PID/mem: not permitted); run as root"],
            id="others of several hosts",
        ),
        pytest.param(
            [Gap("host", Why.UNREACHABLE, "no answer", "ping it", host=f"n{at}") for at in (4, 5)]
            + [Gap("sweep", Why.TIMEOUT)],
            ["n4, n5: no answer; ping it", "sweep: timeout"],
            id="hosts, and what is about nobody",
        ),
    ],
)
def test_gaps_are_folded_by_reason_and_by_whom_they_are_about(gaps: list[Gap], told: list[str]) -> None:
    assert list(unseen(gaps, ROSTER)) == told


def test_of_many_reasons_the_widest_are_told() -> None:
    gaps = [Gap(f"kind {at}", Why.FAILED, f"error {at}", process=ref(90)) for at in range(8)]
    told = list(unseen([*gaps, denied("stacks", 70), denied("stacks", 71)], ROSTER))
    assert told[0].startswith("stacks of ranks 0-1")
    assert told[-1] == "… and 4 more kinds of gaps: --json shows all"
