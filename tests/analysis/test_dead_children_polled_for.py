"""Who asks in its own code for what a dead child should bring has an age, once enough looks have found it there."""

from __future__ import annotations

import pytest

from rankscope.analysis.patience import left_s
from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

PARENT, CHILD = ProcessRef("n1", 70, 1), ProcessRef("n1", 71, 1)
POLLS = Stack(
    [Frame("main", "/job/run.py", 9), Frame("read_frame", "/job/run.py", 30), Frame("time.sleep", "<built-in>", 1)]
)
WORKS = Stack([Frame("serve", "/job/run.py", 50), Frame("accept", "/usr/lib/python3.11/socket.py", 294)])


def job(looks: int = 5, every_s: float = 10.0, wakes: int = 90, numbers: tuple[int, ...] = (), *, beside: bool = False,
        status: int = 9) -> Snapshot:  # fmt: skip
    """A program that naps so often from look to look; ``numbers`` are what it has read so far; its child has ended."""

    def items(at: int) -> tuple[Item, ...]:
        tasks = [KernelThread(70, "python", "S", cpu_s=0.001 * at, voluntary=wakes * at, involuntary=0, still_s=0.01)]
        named = (Local(1, "last", str(numbers[at] if numbers else 73), "int"),)
        threads = [PythonThread(70, POLLS, "MainThread", locals=named)]
        if beside:
            tasks.append(KernelThread(701, "python", "S", voluntary=3, involuntary=0, still_s=99.0))
            threads.append(PythonThread(701, WORKS, "server"))
        return (
            Item(PARENT, Threads(tuple(tasks), uptime_s=200.0 + at * every_s)),
            Item(PARENT, PythonStacks(tuple(threads), engine="test")),
            Item(CHILD, Threads((KernelThread(71, "python", "Z"),), exit_status=status)),
        )

    sweeps = tuple(Sweep(at, at * every_s, (PARENT, CHILD), items(at)) for at in range(looks))
    processes = (
        Process(PARENT, Role.LAUNCHER, parent=1, comm="python"),
        Process(CHILD, Role.OTHER, parent=70, comm="python"),
    )
    return Snapshot(Job("plain", root=PARENT), processes=processes, sweeps=sweeps)


def told(snapshot: Snapshot) -> Finding | None:
    return next((one for one in judge(snapshot).findings if one.kind is Kind.CAUSE), None)


def test_it_is_likely_after_enough_looks() -> None:
    found = told(job())
    assert found is not None
    assert (found.rule, found.certainty) == ("dead-child-polled-for", Certainty.LIKELY)
    assert left_s(case_of(job(looks=2, every_s=12.0))) == 18.0


@pytest.mark.parametrize(
    "snapshot",
    [
        job(looks=3, every_s=20.0),
        job(every_s=1.0),
        job(wakes=2),  # it naps for long, as who has nothing to do
        job(beside=True),  # another thread may do the work
    ],
)
def test_until_then_it_is_possible_at_most(snapshot: Snapshot) -> None:
    found = told(snapshot)
    assert found is None or found.certainty is Certainty.POSSIBLE


def test_what_moves_or_ended_well_is_not_waited_for() -> None:
    assert left_s(case_of(job(looks=2, numbers=(73, 75)))) is None
    assert left_s(case_of(job(looks=2, status=0))) is None
    assert told(job(status=0)) is None
