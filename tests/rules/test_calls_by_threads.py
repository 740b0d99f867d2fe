"""Calls of one group that two threads of a rank issue: their order is nobody's fault alone."""

from __future__ import annotations

from rankscope.model.diagnosis import Finding, Kind
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.evidence.stacks import Frame
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

MAIN = (Frame("average", "/job/train.py", 31), Frame("<module>", "/job/train.py", 60))
BESIDE = (Frame("report", "/job/train.py", 24), Frame("_bootstrap", "/usr/lib/python3.11/threading.py", 1002))
Call = tuple[str, tuple[Frame, ...]]
REDUCES, GATHERS = ("all_reduce", MAIN), ("all_gather", BESIDE)


def cause(*ranks: tuple[Call, ...]) -> Finding | None:
    """What is said of ranks that issued these calls, all but the last two of which are over."""
    refs = tuple(ProcessRef("n1", 70 + rank, 1) for rank in range(len(ranks)))
    items = []
    for ref, calls in zip(refs, ranks):
        ring = tuple(
            RecorderEntry(
                at,
                "0",
                "default_pg",
                at,
                op,
                backend="gloo",
                done=at < len(calls) - 1,
                created_ns=at * 10**9,
                frames=frames,
            )
            for at, (op, frames) in enumerate(calls, 1)
        )
        task = KernelThread(ref.pid, "python", "S", "futex_wait_queue", voluntary=3, involuntary=0, still_s=99.0)
        items += [
            Item(ref, Threads((task,), uptime_s=120.0)),
            Item(ref, Recorder(ring, source="memory", read_at_ns=110 * 10**9)),
        ]
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=rank) for rank, ref in enumerate(refs))
    sweeps = tuple(Sweep(at, float(at), refs, tuple(items)) for at in (0, 1))
    found = judge(Snapshot(Job("torchrun", world_size=len(ranks)), processes=processes, sweeps=sweeps))
    return next((one for one in found.findings if one.kind is Kind.CAUSE), None)


def test_no_rank_is_named_where_two_threads_of_each_issue_calls_of_a_group() -> None:
    found = cause(*[(GATHERS, REDUCES, REDUCES, GATHERS)] * 2, (GATHERS, REDUCES, GATHERS, REDUCES))
    assert found is not None
    assert (found.rule, list(found.ranks), found.cls) == ("recorder-mismatch", [], "collective-mismatch")
    assert "train.py:24 and train.py:31" in found.because[0].text


def test_what_runs_backward_is_no_thread_of_the_program() -> None:
    """Its hooks issue calls of the group on every rank, as the main thread does: one that comes too early is its rank's fault."""
    hook = (Frame("reduce", "/job/train.py", 12),)
    usual = (("all_gather", MAIN), ("all_reduce", hook), ("all_reduce", hook), ("all_gather", MAIN))
    found = cause(
        usual, usual, (("all_gather", MAIN), ("all_reduce", hook), ("all_gather", MAIN), ("all_reduce", hook))
    )
    assert found is not None
    assert (found.rule, list(found.ranks)) == ("recorder-mismatch", [2])


def test_a_thread_that_issues_calls_on_one_rank_alone_is_the_fault_of_that_rank() -> None:
    found = cause(*[(REDUCES, REDUCES, REDUCES, REDUCES)] * 2, (REDUCES, REDUCES, GATHERS, REDUCES))
    assert found is not None
    assert (found.rule, list(found.ranks)) == ("recorder-mismatch", [2])
