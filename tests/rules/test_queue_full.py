"""Who waits for room in a queue is named where nobody takes from it; where somebody stands who should, that one is."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

STD = "/usr/lib/python3.11/"
REF, PEER = ProcessRef("n1", 70, 1), ProcessRef("n1", 71, 1)
PUTS = Stack(
    [
        Frame("main", "/job/run.py", 9),
        Frame("emit", STD + "logging/handlers.py", 1496),
        Frame("enqueue", "/job/run.py", 30),
        Frame("Queue.put", STD + "multiprocessing/queues.py", 89),
    ]
)
REDUCES = Stack(
    [Frame("main", "/job/run.py", 11), Frame("all_reduce", "/x/site-packages/torch/distributed/distributed_c10d.py", 5)]
)
WRITES = Stack([Frame("write", "/job/run.py", 20)])
# It waits for the lock of the handler that the main thread is in; a logger's own method is called like its handler's.
LOGS = Stack(
    [
        Frame("beat", "/job/run.py", 25),
        Frame("handle", STD + "logging/__init__.py", 1589),
        Frame("callHandlers", STD + "logging/__init__.py", 1661),
        Frame("handle", STD + "logging/__init__.py", 952),
        Frame("acquire", STD + "logging/__init__.py", 901),
    ]
)
IDLES = Stack([Frame("_worker", STD + "concurrent/futures/thread.py", 81)])


# A stage of a pipeline that puts into another queue.
SORTS = Stack(
    [Frame("sort", "/job/run.py", 35), Frame("put", STD + "queue.py", 140), Frame("wait", STD + "threading.py", 327)]
)


def rules(other: Stack, still_s: float = 99.0, call: BlockedCall | None = None) -> set[str]:
    """The rules that name a cause where rank 0 is in a collective, rank 1 in a full queue, and a second thread of rank 1 here."""
    kernel = {ref: Threads(tuple(KernelThread(tid, "python", "S", voluntary=3, involuntary=0, still_s=still_s)
                                 for tid in tids)) for ref, tids in ((REF, (70, 80)), (PEER, (71,)))}  # fmt: skip
    stacks = {
        REF: PythonStacks((PythonThread(70, PUTS, "MainThread"), PythonThread(80, other)), engine="test"),
        PEER: PythonStacks((PythonThread(71, REDUCES, "MainThread"),), engine="test"),
    }
    blocked = (Item(REF, Blocked((call,))),) if call else ()
    items = (*blocked, *(Item(ref, record) for ref in (REF, PEER) for record in (kernel[ref], stacks[ref])))
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=rank, command=("python", "run.py"))
                      for rank, ref in enumerate((PEER, REF)))  # fmt: skip
    sweeps = tuple(Sweep(place, float(place), (REF, PEER), items) for place in (0, 1))
    found = judge(Snapshot(Job("torchrun"), processes=processes, sweeps=sweeps)).findings
    return {one.rule for one in found if one.kind is Kind.CAUSE and list(one.ranks) == [1]}


def test_a_queue_that_nobody_empties() -> None:
    """The lock of the log, which every thread that logs holds, is no lock copied by a fork: the rank was not forked."""
    found = rules(IDLES)
    assert "queue-full" in found
    assert "fork-took-a-lock" not in found


def test_a_thread_that_wants_the_log_s_lock_takes_nothing_from_the_queue() -> None:
    assert rules(LOGS) == {"queue-full"}


def test_who_should_take_and_stands_is_the_cause() -> None:
    found = rules(WRITES)
    assert "queue-full" not in found
    assert "rank-in-user-code" in found


@pytest.mark.parametrize(("timed", "rule"), [(False, "queue-full"), (True, "rank-in-user-code")])
def test_stages_that_put_into_each_other_s_full_queue_take_nothing(timed: bool, rule: str) -> None:
    """One whose wait for room has a limit will try something else."""
    assert rules(SORTS, call=BlockedCall(80, "futex", address=64, timed=timed)) == {rule}


@pytest.mark.parametrize("other", [IDLES, WRITES])
def test_a_short_wait_for_room_is_no_cause(other: Stack) -> None:
    assert rules(other, still_s=0.5) == set()
