"""Hosts, and pods of one host, give the same pids: who is whose parent or holds whose lock is told by both."""

from __future__ import annotations

from rankscope.analysis.case import Member
from rankscope.analysis.ends import ancestors, eldest
from rankscope.analysis.scene import Scene
from rankscope.analysis.standing import stand
from rankscope.model.evidence.blocked import Blocked, HeldLock
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

LAUNCHER, RANK, WORKER = (ProcessRef("pod1", pid, 1) for pid in (1, 7, 8))
OTHER = ProcessRef("pod2", 7, 1)


def scene() -> Scene:
    processes = (
        Process(LAUNCHER, Role.LAUNCHER), Process(RANK, Role.RANK, parent=1, rank=0),
        Process(WORKER, Role.OTHER, parent=7), Process(OTHER, Role.RANK, parent=1, rank=1),
    )  # fmt: skip
    members = {process.ref: Member(process, (), ()) for process in processes}
    return Scene(members, {ref: stand(member) for ref, member in members.items()}, {0: RANK, 1: OTHER})


def test_ancestors_are_of_the_same_host() -> None:
    assert ancestors(scene(), WORKER) == {LAUNCHER, RANK}
    assert ancestors(scene(), OTHER) == set()


def test_children_are_of_the_same_host() -> None:
    assert [one.member.ref for one in scene().children_of(7, "pod1")] == [WORKER]
    assert not scene().children_of(7, "pod2")


def test_who_shares_a_socket_with_its_parent_has_it_from_there() -> None:
    assert eldest(scene(), [RANK, WORKER]) == [RANK]
    assert eldest(scene(), [OTHER, WORKER]) == [OTHER, WORKER]


def locked(holder: ProcessRef) -> Snapshot:
    """A rank of pod1 that waits for a lock which pid 9 there holds, and a process whose stack nobody could read."""
    asks = HeldLock(7, "flock", "/data/lock", (9,))
    task = KernelThread(7, "python", "S", "flock_lock_inode_wait", voluntary=3, involuntary=0, still_s=99.0)
    items = (Item(RANK, Threads((task,), uptime_s=120.0)), Item(RANK, Blocked((), (asks,))))
    processes = (Process(RANK, Role.RANK, rank=0), Process(holder, Role.OTHER))
    sweeps = tuple(Sweep(at, float(at), (RANK, holder), items) for at in (0, 1))
    return Snapshot(Job("torchrun", world_size=2), processes=processes, sweeps=sweeps)


def accused(snapshot: Snapshot) -> set[ProcessRef]:
    found = [one for one in judge(snapshot).findings if one.rule == "file-lock-held"]
    return {one.processes[0].ref for one in found if len(one.processes) > 1}


def test_a_lock_is_held_by_the_process_of_its_own_host() -> None:
    here, there = ProcessRef("pod1", 9, 1), ProcessRef("pod2", 9, 1)
    assert here in accused(locked(here))
    assert there not in accused(locked(there))
