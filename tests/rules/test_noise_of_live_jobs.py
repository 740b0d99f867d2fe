"""What healthy programs write gives no cause, also where their job is looked at while it runs."""

from __future__ import annotations

import pathlib
import re
from dataclasses import replace

import pytest

from rankscope.formats.live_log import with_events
from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.log import Logs, LogTail
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

NOISE = sorted((pathlib.Path(__file__).parent / "text" / "healthy").glob("*.txt"))


def lines_of(path: pathlib.Path) -> tuple[str, ...]:
    return tuple(line for line in path.read_text().splitlines() if not re.match("=== ", line))


def job(tail: tuple[str, ...], lines: tuple[int, int]) -> Snapshot:
    """Two ranks that share a log and stand in these lines of their loop at two moments."""
    refs = [ProcessRef("n1", pid, 0) for pid in (70, 71)]
    processes = tuple(
        Process(ref=ref, role=Role.RANK, rank=rank, comm="python", command=("python", "run.py"))
        for rank, ref in enumerate(refs)
    )
    log = LogTail("/job/out.log", 1, 9, 0.0, tail)

    def look(line: int) -> tuple[Item, ...]:
        stack = Stack([Frame("<module>", "/job/run.py", 90), Frame("step", "/job/run.py", line)])
        thread = PythonThread(tid=1, stack=stack, name="MainThread", trust=Trust.EXACT)
        return tuple(Item(ref, PythonStacks((thread,), engine="own")) for ref in refs)

    first = (*look(lines[0]), *(Item(ref, Logs((log,))) for ref in refs))
    sweeps = (Sweep(0, 0.0, tuple(refs), first), Sweep(1, 1.0, tuple(refs), look(lines[1])))
    return with_events(Snapshot(Job("none"), processes=processes, sweeps=sweeps, live=True))


@pytest.mark.parametrize("path", NOISE, ids=lambda path: path.stem)
def test_noise_in_the_log_of_a_job_that_moves_is_no_cause(path: pathlib.Path) -> None:
    diagnosis = judge(job(lines_of(path), (41, 57)))
    assert [finding.rule for finding in diagnosis.findings if finding.kind is Kind.CAUSE] == []


@pytest.mark.parametrize("path", NOISE, ids=lambda path: path.stem)
def test_noise_adds_no_cause_to_a_job_that_stands(path: pathlib.Path) -> None:
    """Whatever is found is found without the log as well."""
    snapshot = job(lines_of(path), (41, 41))
    silent = replace(job((), (41, 41)))
    with_log = {finding.rule for finding in judge(snapshot).findings if finding.kind is Kind.CAUSE}
    without = {finding.rule for finding in judge(silent).findings if finding.kind is Kind.CAUSE}
    assert with_log <= without


@pytest.mark.parametrize("path", NOISE, ids=lambda path: path.stem)
def test_noise_is_no_cause_where_a_rank_has_ended(path: pathlib.Path) -> None:
    """A rank that ended makes the log speak for the job; ordinary lines still blame nobody."""
    snapshot = job(lines_of(path), (41, 57))
    last = snapshot.sweeps[1]
    gone = replace(last, present=last.present[:1], items=last.items[:1])
    silent = job((), (41, 57))
    both = [replace(one, sweeps=(one.sweeps[0], gone)) for one in (snapshot, silent)]
    with_log, without = ({f.rule for f in judge(one).findings if f.kind is Kind.CAUSE} for one in both)
    assert with_log <= without
