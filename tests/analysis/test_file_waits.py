"""Who waits for whom over files: lock files that are polled; and the dead who are no rank of the job."""

from __future__ import annotations

import pytest

from rankscope.model.evidence.lock_files import LockFile, LockFiles
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of

ACQUIRES = Stack(
    [Frame("prepare", "/job/run.py", 9), Frame("BaseFileLock.acquire", "/x/site-packages/filelock/_api.py", 1037)]
)
# Of filelock 4.0 and later.
POLLS = Stack(
    [
        Frame("prepare", "/job/run.py", 9),
        Frame("LockAcquisition._poll_until_acquired", "/x/site-packages/filelock/_core/_acquire.py", 177),
    ]
)
STANDS = Stack([Frame("prepare", "/job/run.py", 20), Frame("Event.wait", "/usr/lib/python3.11/threading.py", 629)])


CACHE = "/data/cache.lock"


def job(
    *stacks: Stack, holders: tuple[int, ...] = (), second: str = "", body: bool = False, world_size: int = 2
) -> Snapshot:
    """Ranks that stand in these stacks, of whom the first names a lock file, and maybe the second one, which the first has
    open; and a dead child of the same parent."""
    refs = [ProcessRef("n1", 70 + number, 1) for number in range(len(stacks))]
    items = [Item(refs[0], LockFiles((LockFile(CACHE, 9.0, holders),)))]
    if second:
        items.append(Item(refs[1], LockFiles((LockFile(second, 9.0, (70,)),))))
    for ref, stack in zip(refs, stacks, strict=True):
        items.append(Item(ref, Threads((KernelThread(ref.pid, "python", "S", still_s=99.0),))))
        items.append(Item(ref, PythonStacks((PythonThread(ref.pid, stack, "MainThread"),), engine="test")))
    processes = [Process(ref, Role.RANK, parent=1, comm="python", rank=number, world_size=world_size)
                 for number, ref in enumerate(refs)]  # fmt: skip
    if body:
        dead = ProcessRef("n1", 60, 1)
        processes.append(Process(dead, Role.OTHER, parent=1, comm="python"))
        items.append(Item(dead, Threads((KernelThread(60, "python", "Z"),), exit_status=9)))
        refs.append(dead)
    return Snapshot(Job("torchrun"), processes=tuple(processes), sweeps=(Sweep(0, 0.0, tuple(refs), tuple(items)),))


@pytest.mark.parametrize("asks", [ACQUIRES, POLLS])
@pytest.mark.parametrize(
    ("second", "holders", "waits"), [(STANDS, (71,), {(70, 71)}), (ACQUIRES, (71,), set()), (STANDS, (70,), set())]
)
def test_a_lock_file_is_waited_for_from_who_has_it_open(
    asks: Stack, second: Stack, holders: tuple[int, ...], waits: set[tuple[int, int]]
) -> None:
    """Not from another one that polls, which has it open only for a moment."""
    found = case_of(job(asks, second, holders=holders)).graph.waits
    assert {(wait.waiter.pid, wait.target.pid) for wait in found if wait.target} == waits


@pytest.mark.parametrize(("second", "circles"), [("/data/other.lock", 1), (CACHE, 0)])
def test_two_who_poll_for_the_locks_of_each_other_wait_in_a_circle(second: str, circles: int) -> None:
    """Two who ask for one lock do not."""
    found = case_of(job(ACQUIRES, ACQUIRES, STANDS, holders=(71,), second=second, world_size=3)).graph
    assert len(found.cycles) == circles


@pytest.mark.parametrize(("world_size", "ranks"), [(2, [0, 1]), (3, [0, 1, 2])])
def test_a_dead_sibling_is_a_rank_only_where_one_is_missing(world_size: int, ranks: list[int]) -> None:
    """It may be the launcher itself, whose children went to its own parent."""
    case = case_of(job(STANDS, STANDS, body=True, world_size=world_size))
    assert sorted(member.rank for member in case if member.role is Role.RANK and member.rank is not None) == ranks
