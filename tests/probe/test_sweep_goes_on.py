"""A step that blocks costs itself: what was learned before it is there for the steps behind it."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.formats.snapshot import Reader
from rankscope.model import wire
from rankscope.model.evidence import kinds
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Job, Snapshot
from rankscope.probe import procfs, sweep
from rankscope.probe.collector import Collector, Target, Touch
from rankscope.probe.collectors import log
from rankscope.probe.engine import StackOptions
from rankscope.probe.recall import Recall
from rankscope.probe.sweep import Plan, Step, run

STACK = Stack((Frame("main", "train.py", 3), Frame("step", "train.py", 17, "libc.so")))
THREADS = Threads((KernelThread(7, "python", "D", still_s=4.5),), tracer=0)
STACKS = PythonStacks((PythonThread(7, STACK, "MainThread", Trust.EXACT),), "memory", "3.11")
Told = Callable[[Target], Any]


def stands_still(_: Target) -> None:
    signal.pause()


def processes() -> tuple[Process, ...]:
    """Two that are there: this one and its parent."""
    return tuple(
        Process(ProcessRef("node1", pid, procfs.stat("/proc", pid).started), Role.RANK, rank=rank)
        for rank, pid in enumerate((os.getpid(), os.getppid()))
    )


@pytest.fixture
def neighbours() -> Iterator[tuple[Process, ...]]:
    """Six ranks that are there."""
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(6)]
    yield tuple(
        Process(ProcessRef("node1", child.pid, procfs.stat("/proc", child.pid).started), Role.RANK, rank=rank)
        for rank, child in enumerate(children)
    )
    for child in children:
        child.kill()
        child.wait()


def look(
    monkeypatch: pytest.MonkeyPatch,
    plan: Plan,
    there: tuple[Process, ...] = (),
    shared: str = "log",
    each_s: float = 0.3,
    **tell: Told,
) -> Snapshot:
    """A look at all who are there (both of ``processes`` else) with these collectors, in this order, ``each_s`` for a step."""
    there = there or processes()
    made = tuple(
        Collector(kind.replace("_", "-"), Touch.PASSIVE, each_s, told, order=place, shared=kind == shared)
        for place, (kind, told) in enumerate(tell.items())
    )
    monkeypatch.setattr(sweep, "collectors", lambda _: made)
    reader = Reader()
    reader.introduce(Job("test"), (Host("node1"),), there)
    for lines in run(plan, there):
        for line in lines.splitlines():
            reader.feed(line.encode())
    return reader.snapshot()


def records(snapshot: Snapshot, index: int, cls: type) -> list[Any]:
    return [item.record for item in snapshot.sweeps[index].items if isinstance(item.record, cls)]


def test_what_builds_on_earlier_evidence_has_it_after_a_step_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log of a rank lies on a dead server; which mounts it waits for is told by its threads, read before."""

    def builds_on(target: Target) -> Environ:
        seen = {kind: str(record == wanted) for kind, wanted in (("threads", THREADS), ("python-stacks", STACKS))
                if (record := target.seen.get(kind)) is not None}  # fmt: skip
        return Environ(seen)

    plan = Plan(1, 0.0, deadline_s=20.0)
    snapshot = look(
        monkeypatch,
        plan,
        threads=lambda _: THREADS,
        python_stacks=lambda _: STACKS,
        log=stands_still,
        environ=builds_on,
    )
    both = {"threads": "True", "python-stacks": "True"}
    assert records(snapshot, 0, Environ) == [Environ(both), Environ(both)]
    assert [gap.what for gap in snapshot.gaps if gap.why is Why.BLOCKED] == ["log", "log"]
    assert len(records(snapshot, 0, PythonStacks)) == 2


def test_sweeps_keep_their_distance_after_a_step_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that takes over begins the next sweep when the plan says, and leaves out who was gone in this one."""
    plan = Plan(2, 1.5, deadline_s=20.0)
    at = time.monotonic()
    snapshot = look(monkeypatch, plan, log=stands_still, threads=lambda _: THREADS)
    began = [one.at_s for one in snapshot.sweeps]
    assert began[1] - began[0] >= 1.4
    assert time.monotonic() - at < 6
    assert [len(records(snapshot, index, Threads)) for index in (0, 1)] == [2, 2]


def test_what_stands_still_again_and_again_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine logs on one dead server cost two deadlines, not nine in each sweep; the report says so once."""
    snapshot = look(monkeypatch, Plan(3, 0.0, deadline_s=20.0), log=stands_still, threads=lambda _: THREADS)
    told = [(gap.what, gap.why, gap.process is None) for gap in snapshot.gaps]
    assert told == [("log", Why.BLOCKED, False), ("log", Why.BLOCKED, False), ("log", Why.SKIPPED, True)]


def test_one_process_that_blocks_costs_no_other_its_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who answers in between shows that it is not the kind of evidence that blocks."""

    def blocks_on_one(target: Target) -> PythonStacks:
        if target.process.rank == 0:
            signal.pause()
        return STACKS

    snapshot = look(monkeypatch, Plan(3, 0.0, deadline_s=20.0), python_stacks=blocks_on_one)
    assert [len(records(snapshot, index, PythonStacks)) for index in range(3)] == [1, 1, 1]
    assert [gap.why for gap in snapshot.gaps] == [Why.BLOCKED] * 3


def test_who_holds_its_own_memory_holds_up_nobody_else(
    monkeypatch: pytest.MonkeyPatch, neighbours: tuple[Process, ...]
) -> None:
    """Ranks 0 and 1 hold the locks of their memory inside a driver: the others' stacks and recorders are read in each sweep."""

    def blocks_on_two(target: Target) -> PythonStacks:
        if target.process.rank in (0, 1):
            signal.pause()
        return STACKS

    snapshot = look(monkeypatch, Plan(2, 0.0, deadline_s=20.0), neighbours, python_stacks=blocks_on_two)
    assert [len(records(snapshot, index, PythonStacks)) for index in (0, 1)] == [4, 4]
    assert [gap.why for gap in snapshot.gaps] == [Why.BLOCKED] * 4


@pytest.mark.parametrize(("pause", "expected_s"), [(True, [1.0, 6.0]), (False, [1.0, 2.25])])
def test_after_two_that_stood_still_the_others_are_waited_for_less(
    neighbours: tuple[Process, ...], pause: bool, expected_s: list[float]
) -> None:
    """A quarter of the time tells as much, but a tool that holds a process has all of its own."""
    plan = Plan(1, options=StackOptions(pause=pause, deadline_s=5.0))
    reads, engine = (Collector(kind, Touch.PASSIVE, 4.0, stands_still, by_engine=kind == "b") for kind in "ab")
    worker = sweep._Worker(plan, neighbours, time.monotonic() + 60)
    waits = []
    for process in neighbours[:3]:
        both = [Step(0, process, one) for one in (reads, engine)]
        waits.append([worker.deadline_s(step) for step in both])
        for step in both:
            list(worker.stood_still(step))
    assert waits == [[4.0, 9.0], [4.0, 9.0], expected_s]


def test_who_stood_still_once_is_waited_for_less_whatever_it_is_asked_for(neighbours: tuple[Process, ...]) -> None:
    """Its memory is what stacks and recorder both need; a server that its log lies with is none of its own."""
    recorder, log = (Collector(kind, Touch.PASSIVE, 4.0, stands_still, shared=kind == "log") for kind in ("r", "log"))
    worker = sweep._Worker(Plan(1), neighbours, time.monotonic() + 60)
    list(worker.stood_still(Step(0, neighbours[0], Collector("s", Touch.PASSIVE, 3.0, stands_still))))
    list(worker.stood_still(Step(0, neighbours[1], log)))
    waits = [[worker.deadline_s(Step(0, one, kind)) for kind in (recorder, log)] for one in neighbours[:2]]
    assert waits == [[1.0, 4.0], [4.0, 4.0]]


def test_shared_files_that_hold_up_two_are_asked_of_no_other(
    monkeypatch: pytest.MonkeyPatch, neighbours: tuple[Process, ...]
) -> None:
    snapshot = look(monkeypatch, Plan(2, 0.0, deadline_s=20.0), neighbours, log=stands_still, threads=lambda _: THREADS)
    assert [gap.why for gap in snapshot.gaps] == [Why.BLOCKED, Why.BLOCKED, Why.SKIPPED]
    assert [len(records(snapshot, index, Threads)) for index in (0, 1)] == [6, 6]


def test_where_none_of_many_answers_the_rest_is_left_out(
    monkeypatch: pytest.MonkeyPatch, neighbours: tuple[Process, ...]
) -> None:
    snapshot = look(monkeypatch, Plan(2, 0.0, deadline_s=20.0), neighbours, recorder=stands_still)
    assert [gap.why for gap in snapshot.gaps] == [Why.BLOCKED] * 8 + [Why.SKIPPED]


def test_who_is_asked_once_a_host_is_asked_once_by_each_child(
    monkeypatch: pytest.MonkeyPatch, neighbours: tuple[Process, ...]
) -> None:
    """A store that does not let go is asked twice, since who asked first took its memory along; then never again."""

    def asks_once(target: Target) -> Environ | None:
        if "asked" in target.shelf:
            return None
        target.shelf["asked"] = True
        return stands_still(target)

    snapshot = look(monkeypatch, Plan(1, 0.0, deadline_s=20.0), neighbours, "environ", environ=asks_once)
    assert [gap.why for gap in snapshot.gaps] == [Why.BLOCKED, Why.BLOCKED, Why.SKIPPED]


def test_who_is_passed_by_does_not_show_that_the_others_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap comes at once; it says nothing of the server that the others wait for."""

    def passes_by_one(target: Target) -> Gap | None:
        if target.process.rank == 0:
            return Gap("log", Why.SKIPPED, process=target.process.ref)
        return stands_still(target)

    snapshot = look(monkeypatch, Plan(4, 0.0, deadline_s=20.0), log=passes_by_one)
    assert [gap.why for gap in snapshot.gaps].count(Why.BLOCKED) == 2


def test_a_process_is_not_paused_by_who_may_be_ended_before_it_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Towards the end of the deadline an engine gets what is left, and at the very end it does not begin."""
    told: list[Snapshot] = []
    for deadline_s in (4.0, 1.8):
        made = Collector(
            "environ", Touch.PASSIVE, 3.0, lambda one: Environ({"s": f"{one.options.deadline_s:.0f}"}), by_engine=True
        )
        monkeypatch.setattr(sweep, "collectors", lambda _, made=made: (made,))
        reader = Reader()
        reader.introduce(Job("test"), (Host("node1"),), processes())
        plan = Plan(1, 0.0, options=StackOptions(pause=True), deadline_s=deadline_s)
        for lines in run(plan, processes()):
            for line in lines.splitlines():
                reader.feed(line.encode())
        told.append(reader.snapshot())
    assert records(told[0], 0, Environ) == [Environ({"s": "2"})] * 2
    assert records(told[1], 0, Environ) == []
    assert [gap.why for gap in told[1].gaps] == [Why.SKIPPED] * 2


def test_a_log_with_a_server_is_not_asked_for_while_its_process_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread in state D, and standard output on a mount that comes from elsewhere: the question would stand still too."""
    process = processes()[0]
    fds = {1: "31", 2: "31"}
    mountinfo = b"31 1 0:40 / /home rw - nfs4 server:/home rw\n"
    monkeypatch.setattr(procfs, "read", lambda path, limit=0: (
        mountinfo if path.endswith("mountinfo") else f"mnt_id:\t{fds[int(path.rpartition('/')[2])]}\n".encode()
    ))  # fmt: skip
    (gap,) = log.collect(Target(process, seen={"threads": THREADS}))
    assert isinstance(gap, Gap)
    assert "/home" in gap.detail
    asleep = Threads((KernelThread(7, "python", "S"),))
    assert not any(isinstance(one, Gap) for one in log.collect(Target(process, seen={"threads": asleep})))


class Clock:
    """Time that passes only where somebody sleeps, in the child as in the parent."""

    def __init__(self) -> None:
        self._now_s = 1000.0

    def time(self) -> float:
        return self._now_s

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self._now_s += seconds


def test_two_looks_at_a_process_are_apart_though_the_first_sweep_was_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last process of a slow first sweep is not looked at a second time at once: nothing moves so soon."""
    clock = Clock()
    monkeypatch.setattr(sweep, "time", clock)

    def slow_at_first(target: Target) -> Threads:
        if target.before is None and target.process.rank == 0:
            clock.sleep(0.25)
        return dataclasses.replace(THREADS, uptime_s=clock.monotonic())

    snapshot = look(monkeypatch, Plan(2, 0.3, deadline_s=20.0), threads=slow_at_first)
    first, second = (records(snapshot, number, Threads)[-1].uptime_s for number in (0, 1))
    assert second - first == pytest.approx(0.5 * 0.3)
    assert snapshot.effort.slept_s == pytest.approx(0.5 * 0.3)  # before the second sweep, and in it


def test_what_a_look_slept_is_told_also_when_it_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sleep is told of as it comes: nothing but the interval was slept here, and no end says so."""
    monkeypatch.setattr(sweep, "time", Clock())
    snapshot = look(monkeypatch, Plan(2, 0.2, deadline_s=20.0), threads=lambda _: THREADS)
    assert not snapshot.complete
    assert snapshot.effort.slept_s == pytest.approx(0.2)


def strategy(cls: type) -> st.SearchStrategy[Any]:
    """Records of a class, field by field as they are annotated; numbers of JSON only."""
    return st.builds(cls, **{name: _values(kind) for name, kind in get_type_hints(cls).items()})


def _values(kind: Any) -> st.SearchStrategy[Any]:
    inner = get_args(kind)
    if kind is Stack:
        return st.lists(strategy(Frame), max_size=3).map(Stack)
    if get_origin(kind) is tuple:
        return (
            st.lists(_values(inner[0]), max_size=2).map(tuple) if inner[-1] is ... else st.tuples(*map(_values, inner))
        )
    if get_origin(kind) is Mapping:
        return st.dictionaries(st.text(max_size=3), _values(inner[1]), max_size=2)
    if type(None) in inner:
        return st.none() | _values(inner[0])
    if inner:  # a value of several kinds
        return st.integers() | st.text(max_size=3)
    if dataclasses.is_dataclass(kind):
        return strategy(kind)
    simple = {int: st.integers(-(2**60), 2**60), float: st.floats(0, 1e9), str: st.text(max_size=3)}
    return simple.get(kind, st.from_type(kind))


@pytest.mark.parametrize("kind", sorted(kinds()))
@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_records_of_every_kind_are_read_back_as_they_were_sent(kind: str, data: st.DataObject) -> None:
    """A new way to annotate a field has to be taught to ``recall``."""
    ref, lines = ProcessRef("node1", 7, 99), list[str]()
    sent = data.draw(strategy(kinds()[kind]))
    writer = wire.Writer(lines.append)
    writer.sweep(1, 12.5)
    writer.present((ref,))
    writer.evidence(ref, sent)
    writer.same(ref, kind)
    recall = Recall()
    recall.hear("".join(lines).encode())
    recall.hear(b"damaged\n")
    recall.understand()
    assert (recall.began_s, recall.present) == (12.5, frozenset({ref}))
    assert recall.seen[ref][kind] == sent == recall.records[ref, kind]


def test_what_is_kept_of_many_sweeps_is_the_last_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look may last for hours, and mostly nothing ever blocks: what was replaced since is not held, nor read back."""
    recall, lines = Recall(), list[str]()
    writer = wire.Writer(lambda line: (lines.append(line), recall.hear(line.encode())))
    (one, other), threads = (process.ref for process in processes()), THREADS
    writer.evidence(one, STACKS)
    for number in range(100):
        writer.sweep(number, number)
        writer.present((one, other))
        threads = dataclasses.replace(THREADS, uptime_s=float(number + 1))
        writer.evidence(one, threads)
        writer.evidence(other, threads)
        writer.same(one, "python-stacks")
        writer.gap(Gap("log", Why.DENIED, process=one))
    taken: list[object] = []
    monkeypatch.setattr(Recall, "_take", lambda self, line, take=Recall._take: (taken.append(line), take(self, line)))
    recall.understand()
    assert len(lines) > 500
    assert len(taken) <= 7
    assert recall.began_s == 99
    assert recall.seen == {one: {"threads": threads, "python-stacks": STACKS}, other: {"threads": threads}}
    recall.understand()
    assert len(taken) <= 7


def test_a_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    """A file may be called by any bytes; with them an answer could not be sent."""
    (tmp_path / "link").symlink_to(os.fsdecode(b"/data/caf\xe9.log"))
    assert procfs.link(f"{tmp_path}/link") == "/data/caf\ufffd.log"


def test_an_answer_that_holds_no_text_is_sent_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one process is called must not cost what was seen of the others."""
    snapshot = look(monkeypatch, Plan(1, 0.0, deadline_s=20.0), environ=lambda _: Environ({"NAME": "caf\udce9"}))
    assert records(snapshot, 0, Environ) == [Environ({"NAME": "caf?"})] * 2
    assert not snapshot.gaps


@pytest.fixture
def crowd() -> Iterator[tuple[Process, ...]]:
    """A launcher, two ranks and 45 workers of theirs, all there."""
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(48)]
    roles = [Role.LAUNCHER, Role.RANK, Role.RANK, *[Role.DATALOADER_WORKER] * 45]
    yield tuple(
        Process(
            ProcessRef("node1", child.pid, procfs.stat("/proc", child.pid).started), role,
            owner=children[1 + number % 2].pid if role is Role.DATALOADER_WORKER else None,
        )
        for number, (child, role) in enumerate(zip(children, roles))
    )  # fmt: skip
    for child in children:
        child.kill()
        child.wait()


def own_stacks(target: Target) -> PythonStacks:
    """Stacks that tell whose they are; each child numbers them by itself."""
    stack = Stack((Frame("main", "train.py", target.process.ref.pid),))
    return PythonStacks((PythonThread(target.process.ref.pid, stack),), "memory", "3.11")


@pytest.mark.parametrize("cpus", [1, 2, 16])
def test_many_are_looked_at_by_several_children_as_by_one(
    monkeypatch: pytest.MonkeyPatch, crowd: tuple[Process, ...], cpus: int
) -> None:
    """Everybody once in each sweep, with its own evidence, however many children share the work."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    plan = Plan(2, 0.2, deadline_s=60.0)
    snapshot = look(monkeypatch, plan, crowd, each_s=20.0, python_stacks=own_stacks, threads=lambda _: THREADS)
    assert not snapshot.gaps
    assert [one.index for one in snapshot.sweeps] == [0, 1]
    for one in snapshot.sweeps:
        assert set(one.present) == {process.ref for process in crowd}
        found = {item.process: item.record for item in one.items if isinstance(item.record, PythonStacks)}
        assert {ref: record.threads[0].stack[0].line for ref, record in found.items() if ref} == {
            process.ref: process.ref.pid for process in crowd
        }
        assert sum(isinstance(item.record, Threads) for item in one.items) == len(crowd)


def test_ranks_are_looked_at_by_one_child_and_told_of_once(
    monkeypatch: pytest.MonkeyPatch, crowd: tuple[Process, ...]
) -> None:
    """What is asked once for a host is asked by one child, beside the launcher; ranks share what another one has learned."""
    parts = sweep.parts(Plan(), crowd, 16)
    assert [len(part) for part in parts] == [16, 16, 16]
    assert [process.role for process in parts[0][:3]] == [Role.LAUNCHER, Role.RANK, Role.RANK]
    assert sorted(process.ref.pid for part in parts for process in part) == sorted(one.ref.pid for one in crowd)
    assert [len(part) for part in sweep.parts(Plan(), crowd, 2)] == [24, 24]
    assert [len(part) for part in sweep.parts(Plan(), tuple(replace(one, role=Role.RANK) for one in crowd), 16)] == [48]
    once = Collector("gpus", Touch.PASSIVE, 1.0, own_stacks, per_host=True)
    monkeypatch.setattr(sweep, "collectors", lambda _: (once,))
    asked = [
        step.part for number, part in enumerate(parts) for step in sweep.steps(Plan(1), part, number) if step.process
    ]
    assert asked == [0]


@pytest.mark.parametrize("options", [StackOptions(pause=True), StackOptions(native=True)])
def test_no_two_are_paused_at_the_same_time(crowd: tuple[Process, ...], options: StackOptions) -> None:
    """Who pauses processes goes from one to the next."""
    assert len(sweep.parts(Plan(options=options), crowd, 16)) == 1
