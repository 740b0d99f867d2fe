"""A program of no job is only called sick where nobody could help it any more."""

from __future__ import annotations

import dataclasses

import pytest

from rankscope.analysis.progress import spins_s, works
from rankscope.model.diagnosis import Certainty, Finding, Kind, State
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.space import Mount, Room, Space
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

REF = ProcessRef("n1", 70, 1)
TAKES = Stack([Frame("main", "/job/run.py", 9), Frame("get", "/usr/lib/python3.11/queue.py", 171)])
CLEANS = Stack([Frame("main", "/job/run.py", 9), Frame("sub", "/usr/lib/python3.11/re/__init__.py", 185)])
PAUSES = Stack([Frame("main", "/job/run.py", 9)])


def lone(stack: Stack, *more: object, threads: int = 1, took_s: float = 1.0, busy: bool = False, naps: bool = False,
         holds: bool = True, timed: bool = False, locals: tuple[str, ...] = ("3", "3"), name: str = "n",
         other: str = "read", library: str = "",
         caught: tuple[int, ...] | None = None) -> Snapshot:  # fmt: skip
    """Two looks at one process, whose main thread stands in this stack; its other threads wait in the system call ``other``."""

    def look(place: int) -> tuple[Item, ...]:
        run = 3 + (place if naps else 0)
        task = KernelThread(70, "python", "R" if busy else "S", cpu_s=place * took_s * busy, voluntary=run, involuntary=0,
                            still_s=0.0 if busy or naps else 99.0, wchan="hrtimer_nanosleep" if naps else "futex")  # fmt: skip
        main = PythonThread(70, stack, "MainThread", holds_gil=busy and holds, locals=(Local(0, name, locals[place]),))
        others = tuple(PythonThread(71 + n, Stack([Frame("run", "/job/run.py", 30)])) for n in range(threads - 1))
        calls = (BlockedCall(70, "clock_nanosleep" if naps else "futex", address=0 if naps else 0x100, timed=timed or naps,
                             library=library),
                 *(BlockedCall(one.tid or 0, other, address=0x200) for one in others))  # fmt: skip
        tasks = (task, *(KernelThread(one.tid or 0, "python", "S", still_s=99.0) for one in others))
        kernel = Threads(tasks, uptime_s=9.0 + place * took_s, caught=caught)
        records = [kernel, PythonStacks((main, *others), engine="test"), Blocked(calls), *more]
        return tuple(Item(REF, record) for record in records)

    process = Process(REF, Role.OTHER, parent=1, comm="python", command=("python", "run.py"))
    sweeps = tuple(Sweep(place, place * took_s, (REF,), look(place)) for place in (0, 1))
    return Snapshot(Job("none", root=REF), processes=(process,), sweeps=sweeps)


def causes(snapshot: Snapshot) -> list[Finding]:
    return [finding for finding in judge(snapshot).findings if finding.kind is Kind.CAUSE]


def test_the_only_thread_waits_for_a_queue_of_its_own_process() -> None:
    """Nobody is left who could put something in."""
    (cause,) = causes(lone(TAKES))
    assert cause.rule == "rank-in-user-code"
    assert any("nobody is left" in reason.text for reason in cause.because)


NOTIFIED = Stack([Frame("main", "/job/run.py", 9), Frame("Condition.wait", "/usr/lib/python3.11/threading.py", 320)])
ANSWERED = Stack([*TAKES[:1], Frame("result", "/usr/lib/python3.11/concurrent/futures/_base.py", 451), NOTIFIED[-1]])


@pytest.mark.parametrize(("stack", "threads"), [(TAKES, 3), (NOTIFIED, 2), (ANSWERED, 1)])
def test_threads_that_all_wait_for_each_other_are_named(stack: Stack, threads: int) -> None:
    """Every thread sleeps without a time limit on memory of this process alone; a future is never completed by nobody."""
    (cause,) = causes(lone(stack, threads=threads, other="futex"))
    assert cause.rule == "rank-in-user-code"


def test_a_lone_thread_that_waits_for_a_signal_is_not_sick() -> None:
    """Programs whose work is done in signal handlers stand in an event for as long as nothing is to do."""
    assert causes(lone(NOTIFIED)) == []
    assert causes(lone(NOTIFIED, caught=(2, 10, 32, 33))) == []


@pytest.mark.parametrize("caught", [(2,), (2, 4, 6, 7, 8, 11, 32, 33)])
def test_a_lone_thread_in_an_event_that_no_signal_could_bring_is_possibly_sick(caught: tuple[int, ...]) -> None:
    """Handlers of Ctrl-C, of crashes and of the C library are there in programs that heed no signal."""
    (cause,) = causes(lone(NOTIFIED, caught=caught))
    assert (cause.rule, cause.certainty) == ("rank-in-user-code", Certainty.POSSIBLE)
    assert any("Ctrl-C" in text for text in cause.against)
    assert causes(lone(NOTIFIED, caught=caught, timed=True)) == []


@pytest.mark.parametrize(("library", "other", "sick"), [
    ("python3.11", "accept4", True), ("serving.so", "accept4", False), ("serving.so", "futex", True),
])  # fmt: skip
def test_a_server_that_is_a_library_of_its_own_may_stand_while_nothing_is_to_do(
    library: str, other: str, sick: bool
) -> None:
    """One of its threads waits for a connection. A lock of Python, and threads that only wait for each other, are no server."""
    snapshot = lone(PAUSES, threads=2, other=other, library=library)
    seen = dataclasses.replace(snapshot, sweeps=tuple(map(_without_its_second_stack, snapshot.sweeps)))
    assert bool(causes(seen)) is sick


def _without_its_second_stack(sweep: Sweep) -> Sweep:
    """The same look, where the other thread has no frame of Python."""
    records = [dataclasses.replace(item.record, threads=item.record.threads[:1]) if isinstance(item.record, PythonStacks)
               else item.record for item in sweep.items]  # fmt: skip
    return dataclasses.replace(sweep, items=tuple(Item(REF, record) for record in records))


@pytest.mark.parametrize("how", [{"threads": 2}, {"timed": True}])
def test_one_who_can_be_woken_is_not_sick(how: dict[str, int]) -> None:
    """Another thread may bring something; a time limit ends the wait by itself."""
    assert causes(lone(TAKES, **how)) == []  # type: ignore[arg-type]


def test_one_instruction_that_keeps_cpu_and_gil_for_long_is_named() -> None:
    snapshot = lone(CLEANS, busy=True, took_s=31.0)
    (cause,) = causes(snapshot)
    assert (cause.rule, judge(snapshot).state) == ("instruction-never-ends", State.STUCK)


@pytest.mark.parametrize(
    "how", [{"took_s": 2.0}, {"took_s": 31.0, "holds": False}, {"took_s": 31.0, "locals": ("3", "4")}]
)
def test_work_that_is_young_or_shares_the_gil_or_counts_is_not(how: dict[str, float]) -> None:
    assert causes(lone(CLEANS, busy=True, **how)) == []  # type: ignore[arg-type]


def test_the_time_at_one_instruction_needs_two_looks() -> None:
    snapshot = lone(CLEANS, busy=True, took_s=5.0)
    once = dataclasses.replace(snapshot, sweeps=snapshot.sweeps[:1])
    assert [spins_s(case_of(one).standings[REF]) for one in (snapshot, once)] == [5.0, None]


FULL = Space((Room(Mount("/out", "tmpfs"), "/out/part0.bin", 0, 1 << 20),))


def test_a_program_that_tries_again_on_a_full_disk_is_named_without_an_age() -> None:
    (cause,) = causes(lone(PAUSES, FULL, naps=True))
    assert (cause.cls, cause.processes[0].ref) == ("storage-full", REF)


def test_a_program_whose_loops_advance_is_not_stopped_by_a_full_disk() -> None:
    """Only a note remains: a frame outside the innermost one holds a number that grew."""
    deeper = Stack([*PAUSES, Frame("nap", "/job/run.py", 20)])
    snapshot = lone(deeper, FULL, naps=True, locals=("3", "4"))
    assert works(case_of(snapshot).standings[REF])
    assert causes(snapshot) == []
    assert [finding.cls for finding in judge(snapshot).findings] == ["storage-full"]


def test_a_stopped_process_is_not_at_work_whatever_its_frames_say() -> None:
    deeper = Stack([*PAUSES, Frame("nap", "/job/run.py", 20)])
    standing = case_of(lone(deeper, naps=True, locals=("3", "4"))).standings[REF]
    assert works(standing)
    assert not works(dataclasses.replace(standing, state="T"))


def test_who_wants_the_mutex_of_a_queue_that_it_holds_has_locked_itself_out() -> None:
    """A signal handler puts into the queue that the interrupted code is putting into."""
    queue = "/usr/lib/python3.11/queue.py"
    handler = [
        Frame("on_signal", "/job/run.py", 4),
        Frame("put", queue, 133),
        Frame("__enter__", "/usr/lib/python3.11/threading.py", 272),
    ]
    interrupted = [Frame("main", "/job/run.py", 9), Frame("put", queue, 150)]
    sure = [one for one in causes(lone(Stack([*interrupted, *handler]))) if one.certainty is not Certainty.POSSIBLE]
    assert {one.cls for one in sure} == {"lock-order-deadlock"}
    assert "locks-crosswise" in {one.rule for one in sure}


def test_a_circle_inside_one_process_is_among_the_cycles_only_where_it_is_likely() -> None:
    """Two threads that want a lock of each other; a call into a library that may only wait for its work is no circle yet."""
    interrupted = [Frame("main", "/job/run.py", 9), Frame("put", "/usr/lib/python3.11/queue.py", 150)]
    handler = [Frame("on_signal", "/job/run.py", 4), Frame("put", "/usr/lib/python3.11/queue.py", 133)]
    enters = Frame("__enter__", "/usr/lib/python3.11/threading.py", 272)
    assert judge(lone(Stack([*interrupted, *handler, enters]))).cycles == ((REF,),)
    assert judge(lone(Stack([*interrupted, *handler]))).cycles == ()


@pytest.mark.parametrize(("name", "moves"), [("piece", True), ("attempt", False), ("n_retries", False), ("_", False)])
def test_a_number_that_grows_between_pauses_is_work_unless_it_counts_attempts(name: str, moves: bool) -> None:
    """A loop that works piece by piece and one that asks in vain look alike but for this."""
    snapshot = lone(PAUSES, naps=True, locals=("3", "4"), name=name)
    assert works(case_of(snapshot).standings[REF]) is moves
