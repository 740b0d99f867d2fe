"""A lone program that computes at one place is looked at for as long as it takes to tell, and no longer."""

from __future__ import annotations

import dataclasses

import pytest

from rankscope.analysis.patience import followed, left_s
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Effort, Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge
from rankscope.probe.discover import Found
from rankscope.probe.sweep import Plan
from rankscope.steps import looking_on

REF = ProcessRef("n1", 70, 1)


def computing(took_s: float, line: int = 9, grew: int = 0) -> Snapshot:
    """Two looks at a process that wants the CPU and never sleeps; ``line`` is where it stands at the second, ``grew`` by how
    much it has more memory then."""

    def look(place: int) -> Sweep:
        stack = Stack([Frame("main", "/job/run.py", line if place else 9)])
        kernel = Threads(
            (KernelThread(70, "python", "R", cpu_s=place * took_s, voluntary=3),),
            uptime_s=9 + place * took_s,
            rss_bytes=11_000_000 + place * grew,
        )
        stacks = PythonStacks((PythonThread(70, stack, "MainThread", holds_gil=True),), engine="test")
        return Sweep(place, place * took_s, (REF,), (Item(REF, kernel), Item(REF, stacks)))

    process = Process(REF, Role.OTHER, parent=1, comm="python", command=("python", "run.py"))
    return Snapshot(Job("none", root=REF), processes=(process,), sweeps=(look(0), look(1)))


def left(snapshot: Snapshot) -> float | None:
    return left_s(case_of(snapshot, stuck_after_s=30.0))


def test_what_is_left_is_the_time_until_it_counts_as_stuck() -> None:
    assert left(computing(took_s=12.0)) == 18.0
    assert left(computing(took_s=30.0)) is None


def test_nothing_is_left_to_wait_for_where_it_moves_or_the_look_was_cut_short() -> None:
    assert left(computing(took_s=12.0, line=10)) is None
    assert left(dataclasses.replace(computing(took_s=12.0), complete=False)) is None
    assert left(dataclasses.replace(computing(took_s=12.0), job=Job("none"))) is None


def test_who_takes_and_gives_back_memory_calculates() -> None:
    assert left(computing(took_s=12.0, grew=1 << 20)) is None
    assert left(computing(took_s=12.0, grew=-1 << 20)) is None
    assert left(computing(took_s=12.0, grew=4096)) == 18.0
    assert judge(computing(took_s=40.0, grew=0)).verdict is not None
    assert judge(computing(took_s=40.0, grew=1 << 20)).verdict is None


def pausing(woke: int = 0, errno: int = 27, call: str = "sleep") -> Snapshot:
    """Two looks at a process in the handler of an error; it was woken so often between them."""

    def look(place: int) -> Sweep:
        task = KernelThread(70, "python", "S", wchan=call, voluntary=3 + woke * place)
        kernel = Threads((task,), uptime_s=9 + place)
        thread = PythonThread(
            70, Stack([Frame("append", "/job/run.py", 9)]), "MainThread", handles="OSError", errno=errno
        )
        return Sweep(place, place, (REF,), (Item(REF, kernel), Item(REF, PythonStacks((thread,), engine="test"))))

    process = Process(REF, Role.OTHER, parent=1, comm="python", command=("python", "run.py"))
    return Snapshot(Job("none", root=REF), processes=(process,), sweeps=(look(0), look(1)))


def test_who_sleeps_with_a_refusal_in_hand_is_looked_at_until_it_wakes() -> None:
    """Both looks may fall into one pause between two tries."""
    assert left(pausing(call="hrtimer_nanosleep")) == 29.0
    assert left(pausing(call="hrtimer_nanosleep", woke=1)) is None
    assert left(pausing(call="hrtimer_nanosleep", errno=0)) is None
    assert left(pausing(call="ep_poll")) is None


def test_later_sweeps_are_numbered_on_and_their_cost_is_added() -> None:
    first = dataclasses.replace(computing(1.0), effort=Effort(2.0, 1.0))
    later = dataclasses.replace(computing(1.0), effort=Effort(5.0, 4.0), complete=False)
    joined = followed(first, later)
    assert [sweep.index for sweep in joined.sweeps] == [0, 1, 2, 3]
    assert (joined.effort.took_s, joined.effort.slept_s, joined.complete) == (7.0, 5.0, False)


def test_what_later_sweeps_could_not_see_and_whom_they_paused_is_kept() -> None:
    """A gap that both looks began with is told once."""
    known, new = Gap("environ", Why.DENIED), Gap("threads", Why.BLOCKED)
    first = dataclasses.replace(computing(1.0), effort=Effort(2.0, 1.0, 3.0), gaps=(known,))
    later = dataclasses.replace(computing(1.0), effort=Effort(5.0, 0.0, 40.0), gaps=(known, new))
    joined = followed(first, later)
    assert joined.gaps == (known, new)
    assert joined.effort.paused_ms_max == 40.0


class Clock:
    """A clock that only looks move."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def time(self) -> float:
        return self.now_s

    monotonic = time


def looked_on(monkeypatch: pytest.MonkeyPatch, deadline_s: float, stuck_after_s: float, look_s: float) -> Snapshot:
    """What comes of looking on at what computes for a second already, where each look shows four seconds more and takes
    ``look_s``; sweeps beyond the first two are those looks."""
    clock, busy = Clock(), computing(1.0)

    def look(*_: object) -> Snapshot:
        clock.now_s += look_s
        shown_s = 1.0 + 4.0 * round((clock.now_s - 100.0) / look_s)
        return dataclasses.replace(busy, sweeps=computing(shown_s).sweeps[1:])

    monkeypatch.setattr(looking_on, "time", clock)
    monkeypatch.setattr(looking_on, "sweep", look)
    found, plan = Found(busy.job, busy.processes), Plan(deadline_s=deadline_s)
    return looking_on.look_on(Host("node1"), found, plan, busy, stuck_after_s, lambda _: None)


def test_nobody_looks_on_for_longer_than_a_few_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """--stuck-after may be a day: the time that was asked for is kept, and what would tell is said."""
    seen = looked_on(monkeypatch, deadline_s=5.0, stuck_after_s=3600.0, look_s=4.0)
    (gap,) = seen.gaps
    assert (len(seen.sweeps), gap.what, gap.why) == (2, "looking on", Why.SKIPPED)
    assert gap.hint == "--deadline 1801"


def test_what_is_a_little_too_far_is_said_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = looked_on(monkeypatch, deadline_s=20.0, stuck_after_s=45.0, look_s=4.0)
    (gap,) = seen.gaps
    assert gap.detail == "44 s more would tell whether it stays where it is, and 40 s were left for that"
    assert gap.hint == "--deadline 23"


def test_one_looks_on_until_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = looked_on(monkeypatch, deadline_s=10.0, stuck_after_s=13.0, look_s=4.0)
    assert (len(seen.sweeps), seen.gaps) == (2 + 3, ())


def test_looking_on_ends_where_looks_take_longer_than_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a look of four seconds may take eight: of twenty the third would come too late."""
    seen = looked_on(monkeypatch, deadline_s=10.0, stuck_after_s=17.0, look_s=8.0)
    (gap,) = seen.gaps
    assert len(seen.sweeps) == 2 + 2
    assert gap.detail.startswith("8 s more would tell")
    assert gap.detail.endswith("4 s were left for that")
    assert gap.hint == "--deadline 13"
