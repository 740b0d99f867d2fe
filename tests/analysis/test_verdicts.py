"""Of several causes in a live job, those that keep others waiting are the verdict."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rankscope.analysis.verdict import conclude
from rankscope.model.diagnosis import Certainty, Finding, Kind, Verdict
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of

LIB = "/usr/lib/python3"
START = Frame("<module>", "/job/train.py", 90)
REDUCES = Stack([START, Frame("all_reduce", f"{LIB}/site-packages/torch/distributed/distributed_c10d.py", 90)])
READS = Stack([START, Frame("load", "/job/train.py", 30)])
JOINS = Stack([START, Frame("join", f"{LIB}/multiprocessing/process.py", 149)])
LAUNCHER = ProcessRef("n1", 60, 1)


def ref(rank: int) -> ProcessRef:
    return ProcessRef("n1", 70 + rank, 1)


def job() -> Snapshot:
    """Ranks 0 and 1 reduce with rank 2, which reads, as does rank 3, with which they have no group; their parent joins them."""
    group = (Local(1, "group ranks", "1: 0-2", "ranks"),)
    seen = [
        (LAUNCHER, JOINS, ()),
        *((ref(rank), REDUCES, group) for rank in (0, 1)),
        *((ref(rank), READS, ()) for rank in (2, 3)),
    ]
    items: list[Item] = []
    for one, stack, known in seen:
        task = KernelThread(one.pid, "python", "S", "futex_wait_queue", voluntary=3, involuntary=0, still_s=99.0)
        items += [
            Item(one, Threads((task,), uptime_s=120.0)),
            Item(one, PythonStacks((PythonThread(one.pid, stack, "MainThread", locals=known),), engine="test")),
        ]
    launcher = Process(LAUNCHER, Role.LAUNCHER, comm="python")
    processes = (launcher, *(Process(ref(rank), Role.RANK, parent=60, comm="python", rank=rank) for rank in range(4)))
    refs = tuple(process.ref for process in processes)
    sweeps = tuple(Sweep(at, float(at), refs, tuple(items)) for at in (0, 1))
    return Snapshot(Job("torchrun", world_size=4), processes=processes, sweeps=sweeps)


def cause(cls: str, *ranks: int, certainty: Certainty = Certainty.LIKELY) -> Finding:
    return Finding(rule=f"says-{cls}", cls=cls, kind=Kind.CAUSE, certainty=certainty, title=cls, ranks=RankSet(ranks))


def verdict(causes: Iterable[Finding]) -> Verdict:
    found = conclude(case_of(job()), causes).verdict
    assert found is not None
    return found


READING, LOCKS = cause("rank-stuck-in-user-code", 2), cause("lock-order-deadlock", 3)


@pytest.mark.parametrize("causes", [(READING, LOCKS), (LOCKS, READING)])
def test_who_keeps_nobody_waiting_is_not_in_the_verdict_beside_one_who_does(causes: tuple[Finding, ...]) -> None:
    said = verdict(causes)
    assert (said.cls, list(said.ranks)) == ("rank-stuck-in-user-code", [2])


def test_one_cause_of_several_ranks_is_theirs_whoever_waits_for_them() -> None:
    """What is wrong with one may be wrong with another, whose peers have not come so far."""
    assert list(verdict([READING, cause("rank-stuck-in-user-code", 3)]).ranks) == [2, 3]


def test_where_nobody_waits_for_anybody_accused_all_of_the_first_class_are_named() -> None:
    """What another cause accuses is not what the title speaks of."""
    found = verdict([LOCKS, cause("gil-held", 0), cause("lock-order-deadlock", 1)])
    assert (found.cls, list(found.ranks)) == ("lock-order-deadlock", [1, 3])


def test_certainty_comes_before_waits() -> None:
    said = verdict([READING, cause("process-stopped", 3, certainty=Certainty.CERTAIN)])
    assert (said.cls, list(said.ranks)) == ("process-stopped", [3])


def test_a_cause_that_accuses_no_rank_keeps_its_place() -> None:
    """What ails a host or a network stands in no graph of processes."""
    said = verdict([cause("network-blackhole"), READING])
    assert (said.cls, list(said.ranks)) == ("network-blackhole", [])
