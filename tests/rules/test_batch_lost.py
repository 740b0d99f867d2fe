"""A rank that waits for a batch while all its workers wait for work is named, with the thread that keeps the batch."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Certainty, Finding, Kind
from rankscope.model.evidence.events import Event, Events
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

STD, SITE = "/usr/lib/python3.11/", "/x/site-packages/torch/"
PINS = SITE + "utils/data/_utils/pin_memory.py"
WAITS = Stack([Frame("main", "/job/run.py", 9), Frame("_try_get_data", SITE + "utils/data/dataloader.py", 1300),
               Frame("Queue.get", STD + "queue.py", 180)])  # fmt: skip
REDUCES = Stack([Frame("main", "/job/run.py", 11), Frame("all_reduce", SITE + "distributed/distributed_c10d.py", 5)])
LOOP = [Frame("_pin_memory_loop", PINS, 50), Frame("_pin_memory_loop.<locals>.do_one_step", PINS, 30)]
AWAITS_BATCH = Stack([*LOOP, Frame("Queue.get", STD + "multiprocessing/queues.py", 113)])
IN_DRIVER = Stack([*LOOP, Frame("pin_memory", PINS, 60)])
IN_JOB = Stack([*LOOP, Frame("pin_memory", PINS, 63), Frame("Batch.pin_memory", "/job/run.py", 30),
                Frame("Event.wait", STD + "threading.py", 629)])  # fmt: skip
IDLE = Stack([Frame("_worker_loop", SITE + "utils/data/_utils/worker.py", 250),
              Frame("Queue.get", STD + "multiprocessing/queues.py", 113)])  # fmt: skip
FETCHES = Stack(
    [*IDLE[:1], Frame("fetch", SITE + "utils/data/_utils/fetch.py", 52), Frame("__getitem__", "/job/run.py", 40)]
)


FEEDS = [
    Frame("Thread._bootstrap", STD + "threading.py", 1002),
    Frame("Queue._feed", STD + "multiprocessing/queues.py", 231),
]
RESTS = Stack([*FEEDS, Frame("Condition.wait", STD + "threading.py", 327)])
SENDS = Stack([*FEEDS, Frame("Connection._send", STD + "multiprocessing/connection.py", 384)])
REFUSED = (
    "RuntimeError: unable to allocate shared memory(shm) for file </torch_{}_663_23>: No space left on device (28)"
)

# The stacks of a thread, and how long it has not run.
Threaded = tuple[Stack, float]


def found(rank: list[Threaded], worker: list[Threaded], said: str | None = None, peer_s: float = 99.0) -> list[Finding]:
    """The findings where rank 0 is in a collective and rank 1 waits for a batch."""
    refs = [ProcessRef("n1", pid, 1) for pid in (70, 71, 72)]
    seen = {70: [(REDUCES, peer_s)], 71: rank, 72: worker}
    items = []
    for ref in refs:
        tids = [ref.pid, *(ref.pid * 10 + n for n in range(1, len(seen[ref.pid])))]
        pairs = list(zip(tids, seen[ref.pid], strict=True))
        tasks = tuple(
            KernelThread(tid, "python", "S", voluntary=3, involuntary=0, still_s=age) for tid, (_, age) in pairs
        )
        threads = tuple(PythonThread(tid, stack) for tid, (stack, _) in pairs)
        items += [Item(ref, Threads(tasks)), Item(ref, PythonStacks(threads, engine="test"))]
    if said is not None:
        items.append(Item(None, Events((Event("text.line", "console", 1, text=said),))))
    processes = (
        *(Process(ref, Role.RANK, parent=1, comm="python", rank=rank) for rank, ref in enumerate(refs[:2])),
        Process(refs[2], Role.DATALOADER_WORKER, parent=71, comm="pt_data_worker", rank=1, owner=71, worker=0),
    )
    sweeps = tuple(Sweep(place, float(place), tuple(refs), tuple(items)) for place in (0, 1))
    return list(judge(Snapshot(Job("torchrun"), processes=processes, sweeps=sweeps)).findings)


def causes(pins: Stack, worker: Stack, still_s: float = 99.0) -> list[Finding]:
    """The causes of the rule, by where the pinning thread and the worker stand."""
    every = found([(WAITS, still_s), (pins, still_s)], [(worker, still_s)], peer_s=still_s)
    return [one for one in every if one.rule == "batch-lost" and one.kind is Kind.CAUSE]


@pytest.mark.parametrize(
    ("pins", "said"),
    [(IN_JOB, "Batch.pin_memory"), (IN_DRIVER, "does not come back"), (AWAITS_BATCH, "workers of its loader are idle")],
)
def test_where_the_batch_is(pins: Stack, said: str) -> None:
    (cause,) = causes(pins, IDLE)
    assert list(cause.ranks) == [1]
    assert said in cause.title


def test_a_worker_that_fetches_is_another_matter() -> None:
    assert causes(AWAITS_BATCH, FETCHES) == []


def test_a_short_wait_is_no_cause() -> None:
    assert causes(AWAITS_BATCH, IDLE, still_s=0.5) == []


@pytest.mark.parametrize(
    ("sender", "certainty"),
    [((RESTS, 47.0), Certainty.LIKELY), ((RESTS, 2.0), Certainty.POSSIBLE), ((SENDS, 47.0), Certainty.POSSIBLE)],
    ids=["silent for long", "has just sent", "is sending"],
)
def test_queues_that_carry_nothing_tell_how_long(sender: Threaded, certainty: Certainty) -> None:
    """The loader and its workers ask again every few seconds, so that they are always young."""
    every = found([(WAITS, 3.5), (RESTS, 48.0)], [(IDLE, 2.4), sender])
    (cause,) = (one for one in every if one.rule == "batch-lost")
    assert cause.certainty is certainty


@pytest.mark.parametrize(
    ("pid", "worker", "cls"),
    [(72, IDLE, "shm-exhausted"), (99, IDLE, "dataloader-worker-deadlock"), (72, FETCHES, None)],
    ids=["its worker", "somebody else", "it goes on"],
)
def test_who_was_refused_shared_memory(pid: int, worker: Stack, cls: str | None) -> None:
    """Whose file could not be had is told by the pid in its name."""
    every = found([(WAITS, 3.5), (RESTS, 48.0)], [(worker, 2.4), (RESTS, 47.0)], REFUSED.format(pid))
    first = next(one for one in every if one.kind is Kind.CAUSE)
    assert (first.rule == "batch-refused") is (cls == "shm-exhausted")
    assert cls is None or (first.cls, list(first.ranks)) == (cls, [1])
