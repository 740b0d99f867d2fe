"""Who waits in the kernel for memory that its group may not have is no victim of storage, and holds no lock by its own will."""

from __future__ import annotations

import dataclasses

import pytest

from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.model.evidence.cgroup import ControlGroup
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

REF = ProcessRef("n1", 70, 1)
GROUP = ControlGroup("/job_7", 1, limit_bytes=64 << 20, usage_bytes=64 << 20)


def faulting(
    state: str, wchan: str, *kernel_stack: str, still_s: float = 99.0, group: ControlGroup = GROUP
) -> list[Finding]:
    """The causes told of a rank whose main thread holds the GIL and sleeps in the kernel, seen twice."""
    main = PythonThread(70, Stack([Frame("main", "/job/run.py", 9)]), "MainThread", trust=Trust.EXACT, holds_gil=True)

    def look(place: int) -> Sweep:
        task = KernelThread(
            70, "python", state, wchan, kernel_stack=kernel_stack, voluntary=3, involuntary=0, still_s=still_s
        )
        records = Threads((task,), uptime_s=200.0 + place), PythonStacks((main,), engine="test"), group
        return Sweep(place, float(place), (REF,), tuple(Item(REF, record) for record in records))

    process = Process(REF, Role.RANK, parent=1, comm="python", rank=3)
    snapshot = Snapshot(Job("torchrun"), processes=(process,), sweeps=(look(0), look(1)))
    return [one for one in judge(snapshot).findings if one.kind is Kind.CAUSE]


@pytest.mark.parametrize(
    ("state", "wchan", "stack", "sure"),
    [
        (
            "D",
            "mem_cgroup_oom_synchronize",
            ("mem_cgroup_oom_synchronize", "pagefault_out_of_memory"),
            Certainty.CERTAIN,
        ),
        ("S", "mem_cgroup_handle_over_high", (), Certainty.LIKELY),
        (
            "D",
            "schedule_timeout_killable",
            ("schedule_timeout_killable", "mem_cgroup_handle_over_high"),
            Certainty.LIKELY,
        ),
    ],
)
def test_the_group_is_named_with_what_it_uses(state: str, wchan: str, stack: tuple[str, ...], sure: Certainty) -> None:
    first = faulting(state, wchan, *stack)[0]
    assert (first.rule, first.certainty, list(first.ranks)) == ("memory-group-full", sure, [3])
    assert any("64 MiB of 64 MiB" in reason.text for reason in first.because)


def test_a_wait_for_storage_is_none_for_memory() -> None:
    """State D in a file system keeps its own class, and is no deadlock of the GIL that the thread happens to hold."""
    assert [one.cls for one in faulting("D", "rpc_wait_bit_killable")] == ["filesystem-stall"]


def test_a_short_wait_for_memory_is_no_cause() -> None:
    assert faulting("D", "mem_cgroup_oom_synchronize", still_s=0.2) == []


def test_what_waits_is_told_apart_without_the_right_to_see_where() -> None:
    """The group's own file says that it waits; without that, state D is at most likely a file system."""
    (memory,) = faulting("D", "", group=dataclasses.replace(GROUP, waits=True))
    assert (memory.rule, memory.certainty) == ("memory-group-full", Certainty.LIKELY)
    (storage,) = faulting("D", "")
    assert (storage.rule, storage.certainty) == ("filesystem-stall", Certainty.LIKELY)
