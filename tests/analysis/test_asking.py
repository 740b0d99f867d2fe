"""Who asks again and again has waited for as long as every look found it there; tasks that all wait for tasks are never done."""

from __future__ import annotations

import dataclasses

import pytest

from rankscope.analysis.patience import left_s
from rankscope.model.diagnosis import Certainty, Finding, Kind, State
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

SITE = "/usr/lib/python3/site-packages/"
MAIN = Frame("main", "/job/train.py", 9)
TASK = Frame("report", "/job/train.py", 31)
RAY_GETS = (
    Frame("get", SITE + "ray/_private/worker.py", 7),
    Frame("Worker.get_objects", SITE + "ray/_private/worker.py", 8),
)
RAY_RUNS = Frame("Worker.main_loop", SITE + "ray/_private/worker.py", 5)
CELERY_GETS = (
    Frame("AsyncResult.get", SITE + "celery/result.py", 7),
    Frame("wait_for", SITE + "celery/backends/base.py", 8),
)
CELERY_RUNS = (
    Frame("Worker.workloop", SITE + "billiard/pool.py", 4),
    Frame("build_tracer.<locals>.trace_task", SITE + "celery/app/trace.py", 5),
)
KERNEL = Frame("Kernel.dispatch_shell", SITE + "ipykernel/kernelbase.py", 4)
ASKS = (
    Frame("Kernel._input_request", SITE + "ipykernel/kernelbase.py", 7),
    Frame("select", SITE + "zmq/sugar/poll.py", 8),
)

LOOP = Stack([Frame("BaseEventLoop._run_once", "/usr/lib/python3.11/asyncio/base_events.py", 1)])
DASK_RUNS = Frame("_run_task", SITE + "distributed/worker.py", 4)
DASK_ASKS = (
    Frame("sync", SITE + "distributed/utils.py", 7),
    Frame("Event.wait", "/usr/lib/python3.11/threading.py", 8),
)
LOCKS = Frame("Semaphore.acquire", SITE + "distributed/semaphore.py", 6)
DASK_GATHERS = Stack([MAIN, Frame("Client.gather", SITE + "distributed/client.py", 6), *DASK_ASKS])
DASK_LOCKS = Stack([DASK_RUNS, TASK, LOCKS, *DASK_ASKS])
DASK_WORKS = Stack([DASK_RUNS, Frame("read_csv", SITE + "pandas/io/parsers/readers.py", 6)])
SLEEPS = Stack([MAIN, Frame("time.sleep", "<built-in>", 1)])

DRIVER = Stack([MAIN, *RAY_GETS])
ACTOR = Stack([RAY_RUNS, TASK, *RAY_GETS])
AT_WORK = Stack([RAY_RUNS, TASK])
AT_REST = Stack([RAY_RUNS])
CLIENT = Stack([MAIN, *CELERY_GETS])
WORKER = Stack([*CELERY_RUNS, TASK, *CELERY_GETS])
FREE = Stack([CELERY_RUNS[0], Frame("recv", SITE + "billiard/connection.py", 6)])
CELL = Stack([KERNEL, TASK, *ASKS])


def look(number: int, place: int, every_s: float, stacks: tuple[Stack, ...], step: int) -> tuple[Item, ...]:
    """One look at a process that wakes ten times a second and uses next to no CPU."""
    ref = ProcessRef("n1", 70 + number, 1)
    tids = [ref.pid, *(1000 * ref.pid + more for more in range(1, len(stacks)))]
    tasks = [KernelThread(tid, "python", "S", cpu_s=place * 0.001, voluntary=10 * place, still_s=0.1) for tid in tids]
    named = (Local(0, "step", str(step), "int"), Local(2, "timeout", "5.0" if step < 0 else "None", "float"))
    threads = tuple(
        PythonThread(tid, stack, "MainThread", locals=named) for tid, stack in zip(tids, stacks, strict=True)
    )
    return (
        Item(ref, Threads(tuple(tasks), uptime_s=200.0 + place * every_s)),
        Item(ref, PythonStacks(threads, engine="test")),
    )


def job(
    *stacks: Stack | tuple[Stack, ...], looks: int = 5, every_s: float = 10.0, steps: tuple[int, ...] = ()
) -> Snapshot:
    """The program that was started and those below it, each by its main thread or by several; ``steps`` are values of a
    counter of the first, look by look."""
    refs = tuple(ProcessRef("n1", 70 + number, 1) for number in range(len(stacks)))
    sweeps = tuple(
        Sweep(place, place * every_s, refs, tuple(
            item for number, stack in enumerate(stacks)
            for item in look(number, place, every_s, (stack,) if isinstance(stack, Stack) else stack,
                             steps[place] if steps and number == 0 else 7)
        ))
        for place in range(looks)
    )  # fmt: skip
    roles = (Role.LAUNCHER, *[Role.OTHER] * (len(stacks) - 1))
    processes = tuple(Process(ref, role, parent=1, comm="python") for ref, role in zip(refs, roles))
    return Snapshot(Job("ray", root=refs[0]), processes=processes, sweeps=sweeps)


def causes(snapshot: Snapshot) -> list[Finding]:
    return [one for one in judge(snapshot).findings if one.kind is Kind.CAUSE]


@pytest.mark.parametrize(
    ("stacks", "tasks"),
    [((DRIVER, ACTOR, ACTOR), [71, 72]), ((DRIVER, ACTOR, AT_REST), [71]), ((CLIENT, WORKER), [71])],
)
def test_tasks_that_all_wait_for_tasks_are_never_done(stacks: tuple[Stack, ...], tasks: list[int]) -> None:
    (found,) = causes(job(*stacks))
    assert (found.cls, [one.ref.pid for one in found.processes]) == ("lock-order-deadlock", tasks)
    assert judge(job(*stacks)).state is State.STUCK


@pytest.mark.parametrize(
    "snapshot",
    [
        job(DRIVER, ACTOR, AT_WORK),  # somebody works
        job(CLIENT, WORKER, FREE),  # somebody could
        job(DRIVER, AT_REST),  # no task waits: the result may come from elsewhere
        job(DRIVER, ACTOR, steps=(1, 2, 3, 4, 5)),  # its results come
        job(DRIVER, ACTOR, looks=3, every_s=20.0),  # too few looks
        job(DRIVER, ACTOR, every_s=1.0),  # too young
        job(Stack([MAIN]), CELL, every_s=1.0),
    ],
)
def test_who_gets_its_results_sooner_or_later_is_not_accused(snapshot: Snapshot) -> None:
    assert causes(snapshot) == []


def test_tasks_of_dask_that_all_wait_for_locks_are_never_done() -> None:
    """They run in threads beside the loop of their worker; what a library does there is work as well."""
    (found,) = causes(job(DASK_GATHERS, (LOOP, DASK_LOCKS), (LOOP, DASK_LOCKS)))
    assert [one.ref.pid for one in found.processes] == [71, 72]
    assert (found.certainty, "locks that no process is left to give back" in found.title) == (Certainty.LIKELY, True)
    assert causes(job(DASK_GATHERS, (LOOP, DASK_LOCKS), (LOOP, DASK_WORKS))) == []
    assert causes(job(DASK_GATHERS, (LOOP, DASK_LOCKS, DASK_WORKS))) == []
    assert causes(job(DASK_GATHERS, (LOOP, DASK_LOCKS), (LOOP, DASK_LOCKS), every_s=1.0)) == []


def test_a_lock_that_a_client_may_have_or_that_is_waited_for_with_a_limit_accuses_nobody() -> None:
    assert causes(job(SLEEPS, (LOOP, DASK_LOCKS), (LOOP, DASK_LOCKS))) == []
    assert causes(job(DASK_LOCKS)) != []
    assert causes(job(DASK_LOCKS, steps=(-1,) * 5)) == []


def test_a_cell_of_a_notebook_that_waits_for_input_is_at_a_prompt() -> None:
    (found,) = causes(job(Stack([MAIN, Frame("get_msg", SITE + "jupyter_client/channels.py", 7)]), CELL))
    assert (found.cls, found.processes[0].ref.pid) == ("rank-stuck-in-user-code", 71)
    assert "waits for input" in found.title


def test_the_look_goes_on_until_it_is_certain() -> None:
    assert left_s(case_of(job(DRIVER, ACTOR, looks=2, every_s=12.0))) == 18.0
    assert left_s(case_of(job(Stack([MAIN]), CELL, looks=2, every_s=50.0))) == 0.3
    assert left_s(case_of(job(DRIVER, ACTOR, looks=2, steps=(1, 2)))) is None
    assert left_s(case_of(job(DRIVER, AT_WORK, looks=2))) is None
    assert left_s(case_of(job(DRIVER, ACTOR))) is None


def test_workers_of_celery_may_be_elsewhere_and_those_of_an_own_cluster_not() -> None:
    own = job(DRIVER, ACTOR)
    others = dataclasses.replace(own, job=Job("environment", root=own.job.root))
    assert [causes(one)[0].certainty for one in (own, others)] == [Certainty.LIKELY, Certainty.POSSIBLE]
    assert causes(others)[0].against


def test_looks_without_a_clock_tell_no_age() -> None:
    """As where several dumps of one process were saved."""
    timed = job(Stack([MAIN]), CELL)
    sweeps = tuple(
        dataclasses.replace(one, items=tuple(item for item in one.items if not isinstance(item.record, Threads)))
        for one in timed.sweeps
    )
    standings = case_of(dataclasses.replace(timed, sweeps=sweeps)).standings
    assert [one.still_s for one in standings.values()] == [None] * len(timed.processes)
