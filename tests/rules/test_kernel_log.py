"""The kernel's own words about processes and devices of a job count, those about others do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.model.diagnosis import Finding, Kind
from rankscope.model.evidence.kernel_log import KernelLine, KernelLog
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge
from rankscope.probe.collectors.kernel_log import parse

XID = "NVRM: Xid (PCI:0000:3b:00): {number}, pid={pid}, name=python, GPU has fallen off the bus."
KILLED = "Memory cgroup out of memory: Killed process {pid} (python) total-vm:79708kB, anon-rss:69380kB"
STACK = Stack([Frame("main", "/job/run.py", 7)])
REDUCES = Stack(
    [*STACK, Frame("all_reduce", "/x/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 9)]
)


def job(line: str, dead: bool = False) -> Snapshot:
    """Rank 0, pid 100, waits for rank 1, pid 101, and has the kernel's log beside it."""
    refs = (ProcessRef("n1", 100, 1), ProcessRef("n1", 101, 1))
    processes = tuple(Process(ref, Role.RANK, rank=rank, world_size=2) for rank, ref in enumerate(refs))

    def look(rank: int) -> list[Item]:
        state = "Z" if dead and rank == 1 else "S"
        task = KernelThread(refs[rank].pid, "python", state, wchan="futex", voluntary=3, involuntary=0, still_s=99.0)
        stack = REDUCES if rank == 0 else STACK
        records: list[object] = [Threads((task,), exit_status=9 if state == "Z" else None)]
        records += [PythonStacks((PythonThread(refs[rank].pid, stack, "MainThread"),), "test")] if state != "Z" else []
        records += [KernelLog((KernelLine(9.0, line),))] if rank == 0 else []
        return [Item(refs[rank], record) for record in records]

    sweeps = tuple(Sweep(n, float(n), refs, (*look(0), *look(1))) for n in (0, 1))
    return Snapshot(Job("environment", world_size=2), (), processes, sweeps)


def of(rule: str, snapshot: Snapshot) -> list[Finding]:
    return [finding for finding in judge(snapshot).findings if finding.rule == rule]


def test_the_kernel_names_whom_it_killed() -> None:
    (cause,) = of("memory-group-killed", job(KILLED.format(pid=101), dead=True))
    assert (cause.cls, cause.certainty.value, str(cause.ranks)) == ("oom-kill", "certain", "1")


@pytest.mark.parametrize(("pid", "dead"), [(1010, True), (101, False)])
def test_others_that_were_killed_and_ranks_that_live_are_not_meant(pid: int, dead: bool) -> None:
    """A number that only begins alike is another process."""
    assert of("memory-group-killed", job(KILLED.format(pid=pid), dead=dead)) == []


def test_a_hardware_xid_of_a_rank_is_a_cause() -> None:
    (cause,) = of("gpu-told", job(XID.format(number=79, pid=101)))
    assert (cause.kind, cause.cls, str(cause.ranks)) == (Kind.CAUSE, "gpu-hardware-fault", "1")


def test_one_of_another_program_is_a_note_and_one_of_software_is_nothing() -> None:
    (note,) = of("gpu-told", job(XID.format(number=79, pid=5)))
    assert note.kind is Kind.NOTE
    assert of("gpu-told", job(XID.format(number=31, pid=101))) == []


def test_only_trouble_since_the_job_began_is_kept() -> None:
    raw = b"<6>[   12.5] eth0: link up\n<4>[   13.25] oom-kill:old\n<4>[  99.75][  T71] Memory: Killed process 7 (python)\n"
    assert [line.at_s for line in parse(raw, 20.0)] == [99.75]
    assert [line.at_s for line in parse(raw, 0.0)] == [13.25, 99.75]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_as_lines_or_passed_over(raw: bytes) -> None:
    assert len(list(parse(raw + b"\n[1.0] Killed process " + raw, 0.0))) <= 64
