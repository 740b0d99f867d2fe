"""A pool whose workers end before they give a result; pools that have results, young workers by design, or have only begun."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Certainty, Finding, Kind, State
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

POOL = "/usr/lib/python3.11/multiprocessing/pool.py"
WAITS = Stack([Frame("main", "/job/run.py", 9), Frame("ApplyResult.get", POOL, 768)])
MINDS, HANDS, TAKES = (Stack([Frame(f"Pool._handle_{name}", POOL, 5)]) for name in ("workers", "tasks", "results"))
BEGAN, UPTIME_S = 1000, 90.0  # of the owner, in ticks since boot; at the last look


def owner(place: int, silent_s: float, tasks: str, pools: int) -> tuple[Item, ...]:
    ref = ProcessRef("n1", 70, BEGAN)
    stacks = (WAITS, *(MINDS, HANDS, TAKES) * pools)
    # Its main thread and the one that minds the workers run now and then, since workers come and go.
    still = (0.1, *(0.1, silent_s, silent_s) * pools)
    kernel = tuple(
        KernelThread(70 + number, "python", "S", voluntary=3 + 9 * place * (age < 1), involuntary=0, still_s=age)
        for number, age in enumerate(still)
    )
    named = (Local(0, "maxtasksperchild", tasks, "int"),)
    threads = tuple(PythonThread(70 + number, stack, locals=named) for number, stack in enumerate(stacks))
    return (
        Item(ref, Threads(kernel, uptime_s=UPTIME_S - 1 + place)),
        Item(ref, PythonStacks(threads, engine="test")),
    )


def pool(
    silent_s: float = 80.0, worker_ages_s: tuple[float, ...] = (0.3, 2.0), tasks: str = "None", pools: int = 1
) -> Snapshot:
    """A program that waits for its pool, whose workers are so old at the last look."""
    refs = [ProcessRef("n1", 70, BEGAN)]
    refs += [ProcessRef("n1", 90 + n, BEGAN + int((UPTIME_S - age) * 100)) for n, age in enumerate(worker_ages_s)]
    sweeps = tuple(Sweep(place, float(place), tuple(refs), owner(place, silent_s, tasks, pools)) for place in range(2))
    processes = tuple(
        Process(ref, Role.OTHER if number else Role.LAUNCHER, parent=70 if number else 1, comm="python")
        for number, ref in enumerate(refs)
    )
    return Snapshot(Job("plain", root=refs[0]), processes=processes, sweeps=sweeps)


def causes(snapshot: Snapshot) -> list[Finding]:
    return [one for one in judge(snapshot).findings if one.kind is Kind.CAUSE]


def test_workers_that_end_before_they_give_a_result() -> None:
    (found,) = causes(pool())
    assert (found.rule, found.cls, found.certainty) == ("workers-renewed-in-vain", "child-dead", Certainty.LIKELY)
    assert [one.ref.pid for one in found.processes] == [70, 90, 91]
    assert judge(pool()).state is State.STUCK


@pytest.mark.parametrize(
    "well",
    [
        pool(silent_s=2.0),  # a result has just come, or the pool
        pool(worker_ages_s=(0.3, 80.4)),  # one of the first workers is at a long task
        pool(tasks="1"),  # its workers come and go
        pool(pools=2),  # whose workers they are is not known
    ],
)
def test_a_pool_that_has_results_or_renews_its_workers_on_purpose_is_well(well: Snapshot) -> None:
    assert "workers-renewed-in-vain" not in {one.rule for one in causes(well)}
