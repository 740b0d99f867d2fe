"""Whom a rank waits for in a collective whose group its stack tells: the members of that group, and nobody else."""

from __future__ import annotations

from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

MAIN = Frame("main", "/job/train.py", 9)
REDUCES = Stack([MAIN, Frame("all_reduce", "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py", 90)])
READS = Stack([MAIN, Frame("load", "/job/train.py", 30)])


def job(*groups: str | None) -> Snapshot:
    """A rank for each group, which stands in a call of it; one without stands in code of the job; "" names none."""
    refs = tuple(ProcessRef("n1", 70 + rank, 1) for rank in range(len(groups)))
    items = []
    for ref, group in zip(refs, groups):
        task = KernelThread(ref.pid, "python", "S", "futex_wait_queue", voluntary=3, involuntary=0, still_s=99.0)
        known = (Local(1, "group ranks", group, "ranks"),) if group else ()
        thread = PythonThread(ref.pid, READS if group is None else REDUCES, "MainThread", locals=known)
        items += [Item(ref, Threads((task,), uptime_s=120.0)), Item(ref, PythonStacks((thread,), engine="test"))]
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=rank) for rank, ref in enumerate(refs))
    sweeps = tuple(Sweep(at, float(at), refs, tuple(items)) for at in (0, 1))
    return Snapshot(Job("torchrun", world_size=len(groups)), processes=processes, sweeps=sweeps)


def waits(snapshot: Snapshot) -> set[tuple[int, int]]:
    return {(wait.waiter.pid - 70, wait.target.pid - 70) for wait in case_of(snapshot).graph.waits if wait.target}


def test_groups_of_two_in_a_ring_are_a_cycle() -> None:
    ring = job("1: 0,1", "2: 1,2", "3: 0,2")
    assert waits(ring) == {(0, 1), (1, 2), (2, 0)}
    (found,) = [one for one in judge(ring).findings if one.kind is Kind.CAUSE]
    assert (found.cls, list(found.ranks)) == ("collective-cycle", [])


def test_groups_of_the_same_ranks_are_told_apart_by_name() -> None:
    assert waits(job("1: 0,1", "2: 0,1")) == {(0, 1), (1, 0)}


def test_a_chain_over_groups_leads_to_who_is_in_no_call() -> None:
    chain = job("1: 0,1", "2: 1,2", None)
    assert waits(chain) == {(0, 1), (1, 2)}
    verdict = judge(chain).verdict
    assert verdict is not None
    assert list(verdict.ranks) == [2]


def test_members_of_one_call_and_those_whose_group_is_not_told_are_not_waited_for() -> None:
    assert waits(job("1: 0,1", "1: 0,1")) == set()
    assert waits(job("1: 0,1", "")) == set()
    assert waits(job("1: 0,1", "2: all")) == set()


def test_a_member_far_up_in_a_large_group_is_waited_for() -> None:
    """The ranks of a group are folded where they are neighbours."""
    assert waits(job(*["0: 0-300"] * 300, None)) == {(rank, 300) for rank in range(300)}
