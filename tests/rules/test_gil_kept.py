"""Who keeps the GIL in a native call: a deadlock where somebody wants it, and work where threads of that call compute."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import pytest
import test_live_rules as live

from harness.counting import grows_evenly
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Finding
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.snapshot import Item
from rankscope.pipeline import case_of, judge
from rankscope.rules.seen import gil_held_asleep

TRAINS = Stack([live.MAIN, Frame("train", f"{live.LIB}/site-packages/sentencepiece/__init__.py", 1046)])
BEATS = PythonThread(99, Stack([Frame("beat", "/job/train.py", 5)]), "Thread-1", Trust.EXACT)


def told(
    stack: Stack = TRAINS, beside: bool = True, asks: bool = False, natives: bool = False, naps: bool = False,
    waited_s: float = 99.0,
) -> Finding | None:  # fmt: skip
    """What is said of rank 2 that sleeps with the GIL, or naps, with another thread or none, and native threads that compute
    or none."""
    nap = Blocked((BlockedCall(72, "clock_nanosleep", timed=True),))
    holder = live.Body(72, stack, rank=2, holds_gil=True, threads=(BEATS,) if beside else (), cpu_s=0.01 if naps else 0.0,
                       wchan="hrtimer_nanosleep" if naps else "futex_wait_queue", more=(nap,) if naps else ())  # fmt: skip
    job = live.job(*live.ranks(holder, still_s=waited_s), world=3)

    def seen(item: Item, at: int) -> Item:
        if item.process != holder.ref:
            return item
        record = item.record
        if isinstance(record, PythonStacks):
            record = dataclasses.replace(record, gil_waiters=(99,) if asks else ())
        if isinstance(record, Threads) and natives:
            team = (KernelThread(700 + n, "python", "R", cpu_s=30.0 + at, voluntary=3, still_s=0.0) for n in range(8))
            record = dataclasses.replace(record, threads=(*record.threads, *team))
        return dataclasses.replace(item, record=record)

    sweeps = tuple(
        dataclasses.replace(sweep, items=tuple(seen(item, at) for item in sweep.items))
        for at, sweep in enumerate(job.sweeps)
    )
    return live.said(dataclasses.replace(job, sweeps=sweeps), "gil-held-asleep")


@pytest.mark.parametrize(("asks", "certainty"), [(True, Certainty.CERTAIN), (False, Certainty.LIKELY)])
def test_it_is_certain_where_a_thread_asks_for_the_gil(asks: bool, certainty: Certainty) -> None:
    found = told(live.WORKS, asks=asks)
    assert found is not None
    assert found.certainty is certainty
    assert found.because[1].text.startswith("1 thread of" if asks else "1 other Python thread of")


@pytest.mark.parametrize(
    ("asks", "waited_s", "accused"), [(True, 99.0, True), (False, 99.0, False), (True, 1.0, False)]
)
def test_who_naps_with_the_gil_is_told_where_somebody_asks_for_it_and_others_have_waited_long(
    asks: bool, waited_s: float, accused: bool
) -> None:
    """A native loop that polls a device for a moment under the GIL looks the same, but nobody waits for long."""
    found = told(live.WORKS, asks=asks, naps=True, waited_s=waited_s)
    assert (found is not None) is accused
    assert found is None or found.certainty is Certainty.LIKELY


def test_a_call_whose_native_threads_compute_is_work() -> None:
    assert told(natives=True) is None
    assert told() is not None


def test_where_nobody_else_is_there_to_want_the_gil_it_is_no_deadlock() -> None:
    assert told(live.WORKS, beside=False) is None


@pytest.mark.parametrize("holds", [True, False], ids=["one holds it", "nobody holds it"])
def test_many_threads_are_not_held_against_each_other(holds: bool) -> None:
    """Who held the GIL at each look is asked once for all of them."""

    def many(size: int) -> Callable[[], object]:
        pool = tuple(dataclasses.replace(BEATS, tid=tid) for tid in range(100, 100 + size))
        job = live.job(*live.ranks(live.Body(72, TRAINS, rank=2, holds_gil=holds, threads=pool)), world=3)
        case = case_of(job)
        return lambda: list(gil_held_asleep.check(case))

    assert grows_evenly(many, 200)


WANTS_AND_HAS = """\
Traceback for thread 73 (python) [Waiting for the GIL] (most recent call last):
    (Python) File "/job/work.py", line 4, in consume
        while True: q.get()
    (C) File "./Modules/_threadmodule.c", line 99, in acquire_timed (/usr/lib/libpython3.11.so.1.0)
    (C) File "Python/ceval_gil.h", line 231, in take_gil (/usr/lib/libpython3.11.so.1.0)
Traceback for thread 72 (python) [Has the GIL] (most recent call last):
    (C) File "Modules/main.c", line 734, in Py_BytesMain (/usr/lib/libpython3.11.so.1.0)
    (Python) File "/job/work.py", line 8, in <module>
        n = sum(i * i for i in range(10000))
"""
IN_A_CALL = '    (C) File "spin.c", line 8, in wait_for_callback (/job/spin.so)\n'


@pytest.mark.parametrize("kept", [False, True], ids=["its holder evaluates Python", "its holder is in a native call"])
def test_a_thread_that_waits_for_the_gil_is_told_where_its_holder_does_not_run_python(
    tmp_path: pathlib.Path, kept: bool
) -> None:
    (tmp_path / "dump.txt").write_text(WANTS_AND_HAS + IN_A_CALL * kept)
    assert ("gil-waited-for" in {one.rule for one in judge(gather([tmp_path])).findings}) is kept
