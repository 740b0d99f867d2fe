"""Who waits for a loader asks its queue again and again with a limit: that it asked in vain is no progress of its loop."""

from __future__ import annotations

import pytest

from rankscope.analysis.progress import advances
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of

REF = ProcessRef("n1", 70, 1)
LIBRARY, LOADER = "/usr/lib/python3.11", "/opt/lib/python3.11/site-packages/torch/utils/data/dataloader.py"
WAITS = Stack(
    [
        Frame("train", "/job/run.py", 9),
        Frame("_BaseDataLoaderIter.__next__", LOADER, 741),
        Frame("_MultiProcessingDataLoaderIter._get_data", LOADER, 1459),
        Frame("_MultiProcessingDataLoaderIter._try_get_data", LOADER, 1298),
        Frame("Queue.get", f"{LIBRARY}/queue.py", 180),
        Frame("Condition.wait", f"{LIBRARY}/threading.py", 331),
    ]
)
READS = Stack([*WAITS[:4], Frame("read_rows", "/opt/lib/python3.11/site-packages/rows/reader.py", 71)])


def gets_on(stack: Stack, *changes: int) -> bool:
    """Whether a rank gets on that was seen twice in a stack, with another local in frames of these depths."""
    sweeps = []
    for look in (0, 1):
        task = KernelThread(70, "python", "S", voluntary=3 + look, involuntary=0)
        held = tuple(Local(depth, "success", str(bool(look)), "bool") for depth in changes)
        thread = PythonThread(70, stack, "MainThread", locals=held)
        items = (Item(REF, Threads((task,), uptime_s=9.0 + look)), Item(REF, PythonStacks((thread,), engine="test")))
        sweeps.append(Sweep(look, float(look), (REF,), items))
    process = Process(REF, Role.RANK, parent=1, comm="python", rank=0)
    case = case_of(Snapshot(Job("torchrun"), processes=(process,), sweeps=tuple(sweeps)))
    return advances(case.standings[REF])


@pytest.mark.parametrize(
    ("stack", "changes", "on"),
    [
        (WAITS, (), False),
        (WAITS, (2, 3, 4), False),  # the first limit passed: the loader's own loop knows now that it got nothing
        (WAITS, (0,), True),  # the job's loop turned
        (READS, (2,), True),  # no queue: the loader reads by itself, and its loop turned
    ],
)
def test_only_loops_around_the_loader_are_progress(stack: Stack, changes: tuple[int, ...], on: bool) -> None:
    assert gets_on(stack, *changes) is on


@pytest.mark.parametrize(("worker_ran", "since_s"), [(False, 41.0), (True, 4.0)])
def test_a_batch_is_as_late_as_its_worker_has_stood(worker_ran: bool, since_s: float) -> None:
    """The loader wakes every five seconds to see whether the worker lives; a worker at work tells no age."""
    worker = ProcessRef("n1", 71, 1)
    computes = Stack([Frame("_worker_loop", LOADER.replace("dataloader", "_utils/worker"), 349),
                      Frame("__getitem__", "/job/images.py", 12)])  # fmt: skip
    sweeps = []
    for look in (0, 1):
        asks = KernelThread(70, "python", "S", "futex_wait_queue", voluntary=3, involuntary=0, still_s=3.0 + look)
        stands = KernelThread(71, "python", "S", "futex_wait_queue", voluntary=3 + look * worker_ran, involuntary=0,
                              still_s=40.0 + look)  # fmt: skip
        items = tuple(
            item
            for ref, task, stack in ((REF, asks, WAITS), (worker, stands, computes))
            for item in (
                Item(ref, Threads((task,), uptime_s=99.0 + look)),
                Item(ref, PythonStacks((PythonThread(ref.pid, stack, "MainThread"),), engine="test")),
            )
        )
        sweeps.append(Sweep(look, float(look), (REF, worker), items))
    processes = (
        Process(REF, Role.RANK, parent=1, comm="python", rank=0),
        Process(worker, Role.DATALOADER_WORKER, parent=70, comm="python", rank=0, worker=0, owner=70),
    )
    case = case_of(Snapshot(Job("torchrun"), processes=processes, sweeps=tuple(sweeps)))
    assert [wait.since_s for wait in case.graph.waits if wait.target == worker] == [since_s]
