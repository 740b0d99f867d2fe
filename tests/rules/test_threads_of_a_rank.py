"""What the threads of one rank want of each other: who holds what another wants, and who only waits until the other is done."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, LOCK, MAIN, RESULT, STEP, WAITS, Body, One, body, causes, told

from rankscope.analysis.progress import advances
from rankscope.model.diagnosis import Certainty, Diagnosis, State
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.recorder import Recorder
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of

WORKER = Frame("_worker", f"{LIB}/concurrent/futures/thread.py", 83)
TASK = Frame("_WorkItem.run", f"{LIB}/concurrent/futures/thread.py", 58)
PROPERTY = Frame("cached_property.__get__", f"{LIB}/functools.py", 997)
SEND = Frame("send", "/job/train.py", 31)
ACQUIRE = Frame("Handler.acquire", f"{LIB}/logging/__init__.py", 927)
POLLS = One((MAIN, Frame("listen", "/job/train.py", 5)), BlockedCall(0, "epoll_wait", (9,)), wchan="ep_poll")
NAP = BlockedCall(0, "clock_nanosleep", timed=True)
JOINS = One((MAIN, STEP, Frame("Thread.join", f"{LIB}/threading.py", 1119)), LOCK)


def rank(*threads: One, **more: object) -> Body:
    return body(70, *threads, role=Role.RANK, rank=0, **more)  # type: ignore[arg-type]


def alike(first: Body, last: Body) -> Body:
    """One process as it was at the first look of one and at the last look of the other."""
    return first[0], (first[1][0], last[1][1])


def found(one: Body) -> Diagnosis:
    """What is said of a rank for which another one waits."""
    ends = OpenFiles((OpenFile(5, "pipe:[9]", "r"),))
    peer = body(
        80, One((MAIN, STEP), BlockedCall(0, "read", (5,)), wchan="pipe_read"), role=Role.RANK, rank=1, more=(ends,)
    )
    process, looks = one
    writes = OpenFiles((OpenFile(7, "pipe:[9]", "w"),))
    return told(
        (
            process,
            tuple((*look, *(() if any(isinstance(r, OpenFiles) for r in look) else (writes,))) for look in looks),
        ),
        peer,
    )


def rules(one: Body) -> set[str]:
    return {rule for rule, _ in causes(found(one))}


RESULTS = One((MAIN, STEP, RESULT, WAITS), LOCK)


@pytest.mark.parametrize("inner", [(SEND, ACQUIRE), (PROPERTY,)])
def test_who_waits_for_a_thread_holds_the_lock_that_it_wants(inner: tuple[Frame, ...]) -> None:
    """A handler of a log that waits inside for its sender, which logs; a cached property of two objects of one class."""
    assert rules(rank(RESULTS, One((WORKER, TASK, *inner), LOCK))) == {"locks-crosswise"}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((POLLS,), id="a thread that a connection may wake may let go"),
        pytest.param((One((MAIN, SEND), state="R", wchan="", still_s=0.0, turns=9),), id="one that runs may let go"),
    ],
)
def test_while_somebody_may_let_go_nobody_is_said_to_hold_it(other: tuple[One, ...]) -> None:
    assert "locks-crosswise" not in rules(rank(RESULTS, One((WORKER, TASK, SEND, ACQUIRE), LOCK), *other))


def test_a_wait_with_a_limit_ends_and_lets_go() -> None:
    limited = dataclasses.replace(RESULTS, call=BlockedCall(0, "futex", timed=True))
    assert "locks-crosswise" not in rules(rank(limited, One((WORKER, TASK, SEND, ACQUIRE), LOCK)))


def test_threads_that_stand_in_a_native_lock_by_turns_get_on() -> None:
    """The main thread naps inside and the other waits; at the next look it is the other way round."""
    waits, naps = (
        One(call=BlockedCall(0, "futex", address=64), turns=9, still_s=0.1),
        One(call=NAP, wchan="hrtimer_nanosleep", turns=9, still_s=0.1),
    )
    told_of = found(alike(rank(naps, waits), rank(waits, naps)))
    assert (causes(told_of), told_of.state) == (set(), State.SLOW)


def test_a_nap_at_one_place_beside_threads_that_wait_is_no_turn() -> None:
    naps = One(call=NAP, wchan="hrtimer_nanosleep", turns=9, still_s=0.1)
    assert rules(rank(naps, One(call=LOCK))) == {"rank-in-user-code"}


def team(cpu_s: float, name: str = "python", state: str = "S") -> Body:
    """A rank in a native call, beside a native thread that uses this much CPU between the looks."""
    process, looks = rank(One(call=LOCK), One(call=NAP, wchan="hrtimer_nanosleep"))
    made = []
    for at, look in enumerate(looks):
        kernel = next(one for one in look if isinstance(one, Threads))
        main, helper = kernel.threads
        helper = dataclasses.replace(helper, comm=name, cpu_s=at * cpu_s, state=state)
        stacks = next(one for one in look if isinstance(one, PythonStacks))
        others = tuple(one for one in look if one not in (kernel, stacks))
        made.append((dataclasses.replace(kernel, threads=(main, helper)),
                     dataclasses.replace(stacks, threads=stacks.threads[:1]), *others, Recorder(())))  # fmt: skip
    return process, tuple(made)


@pytest.mark.parametrize(
    ("cpu_s", "name", "state", "sick"),
    [
        pytest.param(0.3, "python", "S", False, id="computes"),
        pytest.param(0.0, "python", "S", True, id="sleeps"),
        pytest.param(0.0, "python", "R", True, id="was met as it woke"),
        pytest.param(0.3, "pt_ticks", "S", True, id="belongs to a library"),
    ],
)
def test_a_native_call_whose_own_thread_computes_is_work(cpu_s: float, name: str, state: str, sick: bool) -> None:
    """Threads with names of their own tick and spin for libraries, whatever the call does."""
    assert bool(rules(team(cpu_s, name, state))) is sick


def test_a_native_thread_that_runs_is_at_work_where_nothing_tells_what_it_used() -> None:
    """One that was not there at the first look."""
    process, (first, last) = team(0.0, state="R")
    before = tuple(
        dataclasses.replace(one, threads=one.threads[:1]) if isinstance(one, Threads) else one for one in first
    )
    assert not rules((process, (before, last)))


def calls(library: str, *, cpu_s: float = 0.0, owner: int = 0, frames: tuple[Frame, ...] = (MAIN, STEP),
          comm: str = "kernels", more: tuple[object, ...] = (), beside: tuple[One, ...] = ()) -> Body:  # fmt: skip
    """A rank whose main thread sleeps in a call into this library, beside a native thread that uses this much CPU."""
    process, looks = rank(One(frames, BlockedCall(0, "futex", library=library, owner=owner)), *beside, more=more)
    made = []
    for at, look in enumerate(looks):
        kernel = next(one for one in look if isinstance(one, Threads))
        native = dataclasses.replace(kernel.threads[0], tid=799, comm=comm, cpu_s=at * cpu_s)
        made.append((*(one for one in look if one is not kernel),
                     dataclasses.replace(kernel, threads=(*kernel.threads, native)), Recorder(())))  # fmt: skip
    return process, tuple(made)


ENTERS = Frame("RLock.__enter__", f"{LIB}/threading.py", 168)


@pytest.mark.parametrize(
    ("one", "certainty"),
    [
        pytest.param(calls("python3.11"), Certainty.LIKELY, id="a lock of Python"),
        pytest.param(calls("python3.11", cpu_s=0.9), Certainty.LIKELY, id="which no native thread can hold"),
        pytest.param(calls("", frames=(MAIN, STEP, ENTERS)), Certainty.LIKELY, id="a frame of one"),
        pytest.param(calls("serving.so"), Certainty.POSSIBLE, id="a server without work"),
        pytest.param(calls(""), Certainty.POSSIBLE, id="nothing tells whose lock it is"),
        pytest.param(calls("tokenizers.abi3.so", cpu_s=0.9), None, id="a library whose own thread computes"),
        pytest.param(calls("", cpu_s=0.9), None, id="any library whose own thread computes"),
        pytest.param(calls("serving.so", owner=799), None, id="a native thread holds it"),
        pytest.param(calls("serving.so", owner=70), Certainty.CERTAIN, id="it holds it itself"),
    ],
)
def test_a_call_into_a_library_is_not_a_lock_that_its_thread_holds(one: Body, certainty: Certainty | None) -> None:
    told_of = next((cause for cause in found(one).findings if cause.rule == "locks-crosswise"), None)
    assert (told_of.certainty if told_of else None) == certainty
    assert bool(told_of and told_of.against) is (certainty is Certainty.POSSIBLE)


TOKENS = Frame("_batch_encode_plus", f"{LIB}/site-packages/transformers/tokenization_utils_fast.py", 529)
FRAMES = Frame("LazyFrame.collect", f"{LIB}/site-packages/polars/lazyframe/frame.py", 2000)


@pytest.mark.parametrize(
    ("inner", "name", "work"),
    [(TOKENS, "python", True), (FRAMES, "polars-3", True), (FRAMES, "pt_ticks", False), (STEP, "python", False)],
)
def test_beside_a_device_only_a_call_of_a_package_that_knows_none_is_work(inner: Frame, name: str, work: bool) -> None:
    """Threads of libraries for devices spin, some without names of their own."""
    process, looks = calls("", cpu_s=0.4, frames=(MAIN, inner))
    device = OpenFiles((OpenFile(4, "/dev/nvidia0", "rw"),))
    named = tuple(
        tuple(dataclasses.replace(one, threads=tuple(dataclasses.replace(task, comm=name) if task.tid == 799 else task
                                                     for task in one.threads)) if isinstance(one, Threads) else one
              for one in (*look, device))
        for look in looks
    )  # fmt: skip
    case = case_of(Snapshot(Job("plain", root=process.ref), (Host("n1"),), (process,), tuple(
        Sweep(at, float(at), (process.ref,), tuple(Item(process.ref, one) for one in look)) for at, look in enumerate(named)
    )))  # fmt: skip
    assert advances(case.standings[process.ref]) is work


ENDS = OpenFile(7, "pipe:[9]", "w")
DEVICE = OpenFiles((OpenFile(4, "/dev/nvidia0", "rw"), ENDS))


@pytest.mark.parametrize(
    ("inner", "name", "certainty"),
    [
        pytest.param(STEP, "NCCL Progress", Certainty.POSSIBLE, id="a named thread for the device"),
        pytest.param(STEP, "python", Certainty.POSSIBLE, id="one without a name"),
        pytest.param(TOKENS, "python", None, id="a team of a package that knows no device"),
        pytest.param(FRAMES, "polars-3", None, id="one with the name of such a package"),
        pytest.param(FRAMES, "NCCL Progress", Certainty.POSSIBLE, id="beside such a call"),
    ],
)
def test_a_thread_that_spins_for_a_device_hides_no_lock(inner: Frame, name: str, certainty: Certainty | None) -> None:
    one = calls("engine.so", cpu_s=0.9, frames=(MAIN, inner), comm=name, more=(DEVICE,))
    told_of = next((cause for cause in found(one).findings if cause.rule == "locks-crosswise"), None)
    assert (told_of.certainty if told_of else None) == certainty
    assert told_of is None or any(name in doubt for doubt in told_of.against)


@pytest.mark.parametrize(("cpu_s", "certainty"), [(0.9, Certainty.POSSIBLE), (0.0, Certainty.LIKELY)])
def test_two_locks_beside_a_thread_that_spins_are_crossed_possibly(cpu_s: float, certainty: Certainty) -> None:
    one = calls("", cpu_s=cpu_s, comm="NCCL Progress", more=(DEVICE,), beside=(One(call=LOCK),))
    told_of = next((cause for cause in found(one).findings if cause.rule == "locks-crosswise"), None)
    assert (told_of.certainty if told_of else None) == certainty


def counting(values: tuple[str, str], turns: int = 9) -> Body:
    """A rank that joins its threads, one of which has this number at the two looks."""
    whole = [rank(JOINS, One((MAIN, SEND), NAP, wchan="hrtimer_nanosleep", turns=turns, still_s=0.1))] * 2
    looks = []
    for at, look in enumerate(alike(*whole)[1]):
        stacks = next(one for one in look if isinstance(one, PythonStacks))
        main, other = stacks.threads
        counted = dataclasses.replace(other, locals=(Local(1, "piece", values[at]),))
        looks.append(
            (*(one for one in look if one is not stacks), dataclasses.replace(stacks, threads=(main, counted)))
        )
    return whole[0][0], tuple(looks)


@pytest.mark.parametrize(("values", "sick"), [(("10", "12"), False), (("10", "10"), True)])
def test_who_joins_threads_that_get_on_is_slow(values: tuple[str, str], sick: bool) -> None:
    assert bool(rules(counting(values))) is sick


LOADS = Frame("_load_unlocked", "<frozen importlib._bootstrap>", 690)
ASKS = One((MAIN, STEP, Frame("_ModuleLock.acquire", "<frozen importlib._bootstrap>", 120)), LOCK)


@pytest.mark.parametrize(("then", "sick"), [("part_2.py", False), ("part_1.py", True)])
def test_an_import_that_comes_from_module_to_module_is_long_not_stuck(then: str, sick: bool) -> None:
    def imports(file: str) -> Body:
        inner = (Frame("<module>", f"/job/tables/{file}", 3), Frame("nap", "/job/tables/rest.py", 1))
        return rank(ASKS, One((SEND, LOADS, *inner), NAP, wchan="hrtimer_nanosleep", turns=9, still_s=0.1))

    assert bool(rules(alike(imports("part_1.py"), imports(then)))) is sick


def posts(*more: Body, mode: str = "rw", beside: One | None = None) -> set[str]:
    """The rules that name a rank which writes into a pipe of its own."""
    ends = OpenFiles((OpenFile(4, "pipe:[5]", mode), OpenFile(7, "pipe:[9]", "w")))
    writes = One((MAIN, STEP), BlockedCall(0, "write", (4,)), wchan="pipe_write")
    process, looks = rank(*(one for one in (writes, beside) if one), more=(ends,))
    peer = body(80, One((MAIN, STEP), BlockedCall(0, "read", (5,)), wchan="pipe_read"), role=Role.RANK, rank=1,
                more=(OpenFiles((OpenFile(5, "pipe:[9]", "r"),)),))  # fmt: skip
    return {rule for rule, _ in causes(told((process, looks), peer, *more))}


def test_who_fills_a_pipe_that_only_it_reads_is_named() -> None:
    assert posts() == {"own-pipe-full"}


def test_another_reader_may_read() -> None:
    """A process that has the reading end as well, or a thread of its own in the job's code."""
    child = body(90, POLLS, parent=70, more=(OpenFiles((OpenFile(3, "pipe:[5]", "r"),)),))
    assert "own-pipe-full" not in posts(child)
    assert "own-pipe-full" not in posts(beside=POLLS)
    assert "own-pipe-full" not in posts(mode="w")


def reports(call: BlockedCall, peer: BlockedCall, wchan: str) -> set[str]:
    """The rules that name a rank which sends into a message queue that a second one has open too."""
    queue = OpenFile(4, "/reports", "rw")
    files = OpenFiles((queue, OpenFile(7, "pipe:[9]", "w"))), OpenFiles((queue, OpenFile(5, "pipe:[9]", "r")))
    sender = rank(One((MAIN, STEP), call, wchan="wq_sleep"), more=(files[0],))
    receiver = body(80, One((MAIN, SEND), peer, wchan=wchan), role=Role.RANK, rank=1, more=(files[1],))
    return {rule for rule, _ in causes(told(sender, receiver))}


READS = BlockedCall(0, "read", (5,)), "pipe_read"


@pytest.mark.parametrize("call", ["mq_timedsend", "msgsnd"])
def test_who_fills_a_message_queue_whose_receiver_went_on_is_named(call: str) -> None:
    assert "message-queue-full" in reports(BlockedCall(0, call, (4,)), *READS)


def test_a_message_queue_that_may_be_emptied_or_gives_up_is_not_full_for_ever() -> None:
    naps = NAP, "hrtimer_nanosleep"
    assert "message-queue-full" not in reports(BlockedCall(0, "mq_timedsend", (4,)), *naps)
    assert "message-queue-full" not in reports(BlockedCall(0, "mq_timedsend", (4,), timed=True), *READS)
    assert "message-queue-full" not in reports(BlockedCall(0, "mq_timedreceive", (4,)), *READS)


def test_a_process_whose_python_has_been_taken_down_does_not_end() -> None:
    """A destructor of a library joins a thread: no Python is left that could tell."""
    process, looks = rank(One(call=LOCK))
    for finalizing, sick in ((True, True), (False, False)):
        stacks = PythonStacks((), engine="test", finalizing=finalizing)
        taken = tuple((*(one for one in look if not isinstance(one, PythonStacks)), stacks) for look in looks)
        assert ("does-not-end" in rules((process, taken))) is sick
