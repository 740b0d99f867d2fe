"""A program beside the job that listens at the meeting point and is no store."""

from __future__ import annotations

import dataclasses

import pytest

from rankscope.model.diagnosis import Finding, Kind
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

MAIN = Frame("main", "/job/train.py", 9)
MEETS = Stack(
    [MAIN, Frame("init_process_group", "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py")]
)
LOADS = Stack([MAIN, Frame("load", "/job/train.py", 30)])
SILENT = Gap("store", Why.TIMEOUT, "the store at 127.0.0.1:29500 does not answer")


def ranks(other: Stack = MEETS, state: str = "S", gaps: tuple[Gap, ...] = (SILENT,), still_s: float = 99.0,
          servers: tuple[int, int] = (99, 99)) -> Snapshot:  # fmt: skip
    """Two ranks that read from their connections to a process beside the job."""
    refs = tuple(ProcessRef("n1", 70 + number, 1) for number in range(2))
    items = []
    for ref, stack, server in zip(refs, (MEETS, other), servers):
        task = KernelThread(ref.pid, "python", "S", voluntary=3, involuntary=0, still_s=still_s, wchan="wait_woken")
        records = (
            Threads((task,), uptime_s=120.0), PythonStacks((PythonThread(ref.pid, stack, "MainThread"),), engine="test"),
            Blocked((BlockedCall(ref.pid, "recvfrom", (5,)),)), OpenFiles((OpenFile(5, "socket:[12]", "rw"),)),
            Outsiders((Outsider(server, "web", state, fd=5, inode=11),)),
        )  # fmt: skip
        items += [Item(ref, record) for record in records]
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=at) for at, ref in enumerate(refs))
    sweeps = tuple(Sweep(at, float(at), refs, tuple(items)) for at in (0, 1))
    snapshot = Snapshot(Job("environment", world_size=2), processes=processes, sweeps=sweeps)
    return dataclasses.replace(snapshot, gaps=gaps)


def accused(snapshot: Snapshot) -> list[Finding]:
    return [one for one in judge(snapshot).findings if one.rule == "stranger-at-meeting" and one.kind is Kind.CAUSE]


def test_a_program_that_takes_the_connections_of_all_and_is_no_store_is_named() -> None:
    (found,) = accused(ranks())
    assert found.cls == "rendezvous-port"
    assert not found.ranks
    assert "pid 99 (web)" in found.title
    assert found.processes[0].ref.pid == 99


@pytest.mark.parametrize(
    "snapshot",
    [
        ranks(gaps=()),  # it answers as a store does
        ranks(state="T"),  # it is stopped: another rule's
        ranks(other=LOADS),  # a rank has not come yet
        ranks(still_s=1.0),
        ranks(servers=(99, 98)),
    ],
)
def test_a_store_that_answers_or_is_waited_for_is_no_stranger(snapshot: Snapshot) -> None:
    assert accused(snapshot) == []
