"""A process that has as many files open as it may is named where it gets no further."""

from __future__ import annotations

import os
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.events import Event, Events
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge
from rankscope.probe.collector import Target
from rankscope.probe.collectors import files

REF = ProcessRef("n1", 70, 1)
TRIES = Stack([Frame("main", "/job/run.py", 9), Frame("open_part", "/job/run.py", 20)])


def causes(count: int, limit: int, piece: str = "7", log: str = "") -> list[str]:
    """The rules that name a lone program with so many files, which pauses and tries again; ``piece`` is where its loop ends."""
    sweeps = []
    for place in (0, 1):
        task = KernelThread(70, "python", "S", "hrtimer_nanosleep", voluntary=3 + place, involuntary=0, still_s=0.1)
        thread = PythonThread(70, TRIES, "MainThread", locals=(Local(0, "piece", piece if place else "7", "int"),))
        open_ = OpenFiles(tuple(OpenFile(fd, "/data/part") for fd in range(count)), limit=limit)
        said = Events((Event("python.exception", text=log),)) if log else None
        records = Threads((task,), uptime_s=200.0 + place), PythonStacks((thread,), engine="test"), open_, said
        sweeps.append(Sweep(place, float(place), (REF,), tuple(Item(REF, record) for record in records if record)))
    process = Process(REF, Role.OTHER, parent=1, comm="python", command=("python", "run.py"))
    snapshot = Snapshot(Job("none", root=REF), processes=(process,), sweeps=tuple(sweeps))
    return [one.rule for one in judge(snapshot).findings if one.kind is Kind.CAUSE]


def test_at_its_limit_and_trying_again() -> None:
    assert causes(101, 101) == ["descriptors-used-up"]


@pytest.mark.parametrize(("count", "limit", "piece"), [(100, 101, "7"), (101, 0, "7"), (101, 101, "8")])
def test_room_left_no_known_limit_or_a_loop_that_advances_is_no_cause(count: int, limit: int, piece: str) -> None:
    assert causes(count, limit, piece) == []


def test_an_error_that_was_told_leaves_a_few_free() -> None:
    """What failed has given back what it had opened; of a small limit a few would be many."""
    refused = "OSError: [Errno 24] Too many open files"
    assert causes(98, 101, log=refused) == ["descriptors-used-up"]  # which says more than that a limit is reached
    for count, limit, log in (
        (98, 101, ""),
        (98, 101, "OSError: [Errno 2] No such file"),
        (90, 101, refused),
        (9, 11, refused),
    ):
        assert "descriptors-used-up" not in causes(count, limit, log=log)


def test_the_limit_of_a_process_is_read_from_the_kernel() -> None:
    found = files.collect(Target(Process(ProcessRef("here", os.getpid(), 0), Role.OTHER)))
    assert found.limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@given(st.binary(max_size=300))
def test_any_bytes_give_a_limit_or_none(raw: bytes) -> None:
    assert files.limit_of(raw) >= 0
    assert files.limit_of(b"Max open files            1024                 4096                 files\n" + raw) == 1024
    assert files.limit_of(b"Max open files            unlimited            unlimited            files\n") == 0
