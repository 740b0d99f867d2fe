"""A result that no worker of a pool is at work on, and pools that only pause."""

from __future__ import annotations

import pytest

from rankscope.analysis.patience import left_s
from rankscope.model.diagnosis import Certainty, Finding, Kind, State
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

STD = "/usr/lib/python3.11/"
POOL, QUEUES, FORK = (STD + "multiprocessing/" + name for name in ("pool.py", "queues.py", "popen_fork.py"))
MAIN = Frame("main", "/job/run.py", 9)
WAITS = Stack([MAIN, Frame("ApplyResult.get", POOL, 768), Frame("Event.wait", STD + "threading.py", 629)])
POLLS = Stack([MAIN, Frame("Parallel._retrieve", "/usr/lib/python3.11/site-packages/joblib/parallel.py", 1822)])
MINDS, HANDS, TAKES = (Stack([Frame(f"Pool._handle_{name}", POOL, 5)]) for name in ("workers", "tasks", "results"))
MAKES = Stack([*HANDS, Frame("rows", "/job/run.py", 30)])
IDLE = Stack([Frame("worker", POOL, 114), Frame("SimpleQueue.get", QUEUES, 365)])
GIVES = Stack([Frame("worker", POOL, 131), Frame("SimpleQueue.put", QUEUES, 377)])
WORKS = Stack([Frame("worker", POOL, 125), Frame("svd", STD + "site-packages/numpy/linalg/_linalg.py", 7)])
MADE_UP = Stack(
    [*MINDS, Frame("Popen._launch", FORK, 71), Frame("BaseProcess._bootstrap", STD + "multiprocessing/process.py", 3)]
)
OWNER = (WAITS, MINDS, HANDS, TAKES)


def look(
    place: int, ref: ProcessRef, stacks: tuple[Stack, ...], ran: int, still_s: float, tasks: str
) -> tuple[Item, ...]:
    tids = [ref.pid, *(ref.pid * 10 + more for more in range(1, len(stacks)))]
    kernel = [KernelThread(tid, "python", "S", voluntary=3 + (ran * place if tid == ref.pid else 0), involuntary=0,
                           still_s=still_s) for tid in tids]  # fmt: skip
    named = (Local(0, "maxtasksperchild", tasks, "int"), Local(0, "maxtasks", "None", "int"))
    threads = tuple(PythonThread(tid, stack, locals=named) for tid, stack in zip(tids, stacks, strict=True))
    return Item(ref, Threads(tuple(kernel), uptime_s=200.0 + 10 * place)), Item(
        ref, PythonStacks(threads, engine="test")
    )


def pool(owner: tuple[Stack, ...] = OWNER, workers: tuple[Stack, ...] = (IDLE, IDLE), later_s: float = 0.0, looks: int = 2,
         still_s: float = 99.0, tasks: str = "None") -> Snapshot:  # fmt: skip
    """A program and its workers, of which the last one was started so much later; one that polls wakes all the time."""
    refs = [ProcessRef("n1", 70 + number, 1000) for number in range(1 + len(workers))]
    refs[-1] = ProcessRef("n1", refs[-1].pid, 1000 + int(later_s * 100))
    polls = POLLS in owner
    sweeps = tuple(
        Sweep(place, 10.0 * place, tuple(refs), (
            *look(place, refs[0], owner, 9 * polls, 0.0 if polls else still_s, tasks),
            *(item for ref, stack in zip(refs[1:], workers, strict=True)
              for item in look(place, ref, (stack,), 0, still_s, tasks)),
        ))
        for place in range(looks)
    )  # fmt: skip
    processes = tuple(
        Process(ref, Role.OTHER if number else Role.LAUNCHER, parent=70 if number else 1, comm="python")
        for number, ref in enumerate(refs)
    )
    return Snapshot(Job("plain", root=refs[0]), processes=processes, sweeps=sweeps)


def causes(snapshot: Snapshot) -> list[Finding]:
    return [one for one in judge(snapshot).findings if one.kind is Kind.CAUSE]


@pytest.mark.parametrize(
    ("sick", "cls", "certainty"),
    [
        (pool((WAITS, MINDS, HANDS)), "rank-stuck-in-user-code", Certainty.LIKELY),  # nobody takes results
        (pool(later_s=7.0), "child-dead", Certainty.LIKELY),  # a worker that makes up for another one
        (pool(), "child-dead", Certainty.POSSIBLE),
        (pool((POLLS, MINDS, HANDS, TAKES), later_s=7.0, looks=5), "child-dead", Certainty.LIKELY),
    ],
)
def test_a_result_that_no_worker_is_at_work_on(sick: Snapshot, cls: str, certainty: Certainty) -> None:
    (found,) = causes(sick)
    assert (found.rule, found.cls, found.certainty) == ("pool-at-rest", cls, certainty)
    assert [one.ref.pid for one in found.processes] == [70, 71, 72]
    assert certainty is Certainty.POSSIBLE or judge(sick).state is State.STUCK


@pytest.mark.parametrize(
    "well",
    [
        pool(workers=(IDLE, WORKS)),  # a task in a library has no frame of the job
        pool(workers=(IDLE, GIVES)),  # its result is on its way
        pool((WAITS, MINDS, MAKES, TAKES)),  # the next task is being made
        pool(still_s=5.0),  # young
        pool(later_s=7.0, tasks="3"),  # workers come and go
        pool((POLLS, MINDS, HANDS, TAKES), later_s=7.0),  # two looks tell no age of one who polls
        pool((POLLS, MINDS, HANDS, TAKES), workers=(WORKS, IDLE), looks=5),
    ],
)
def test_a_pool_that_is_at_work_or_pauses_is_well(well: Snapshot) -> None:
    assert [one.rule for one in causes(well) if one.cls in ("child-dead", "rank-stuck-in-user-code")] == []


def test_a_worker_that_bears_the_frames_of_a_replacement_is_told_once() -> None:
    for owner, looks in ((OWNER, 2), ((POLLS, *OWNER[1:]), 5)):
        (found,) = causes(pool(owner, (IDLE, Stack([*MADE_UP, *IDLE])), looks=looks))
        assert (found.rule, found.certainty) == ("pool-lost-a-worker", Certainty.LIKELY)


def test_the_look_at_one_who_polls_goes_on_where_its_workers_rest() -> None:
    assert left_s(case_of(pool((POLLS, *OWNER[1:])))) == 20.0
    assert left_s(case_of(pool((POLLS, *OWNER[1:]), workers=(IDLE, WORKS)))) is None


ENDS = Stack([MAIN, Frame("Pool.__exit__", POOL, 739), Frame("Pool._terminate_pool", POOL, 732),
              Frame("Popen.poll", FORK, 27)])  # fmt: skip
CLOSES = Stack([MAIN, Frame("Pool.join", POOL, 665), Frame("Popen.poll", FORK, 27)])


def test_a_pool_is_ended_and_a_worker_lives_on() -> None:
    found = next(one for one in causes(pool((ENDS, MINDS))) if one.rule == "pool-does-not-end")
    assert (found.cls, found.certainty) == ("rank-stuck-in-user-code", Certainty.LIKELY)
    assert [one.ref.pid for one in found.processes] == [70, 71]


@pytest.mark.parametrize(
    "well",
    [
        pool((CLOSES, MINDS)),  # a pool that was closed lets its workers finish
        pool((ENDS, MINDS), still_s=5.0),
    ],
)
def test_a_pool_that_is_closed_or_has_only_begun_to_end_is_well(well: Snapshot) -> None:
    assert [one.rule for one in causes(well) if one.rule == "pool-does-not-end"] == []
