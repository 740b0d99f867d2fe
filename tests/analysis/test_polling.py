"""Most ranks ask for something again and again at one place, and get no further: they wait for those that stand elsewhere."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

MAIN = Frame("main", "/job/run.py", 9)
ASKS = Stack([MAIN, Frame("meet", "/job/run.py", 20)])
ASKS_NEXT_LINE = Stack([MAIN, Frame("meet", "/job/run.py", 21)])
ELSEWHERE = Stack([MAIN, Frame("load", "/job/run.py", 40)])
STANDS = Stack([MAIN, Frame("save", "/job/run.py", 60), Frame("Event.wait", "/usr/lib/python3.11/threading.py", 629)])


def rank(number: int, place: int, stack: Stack, ran: bool, piece: str) -> tuple[Item, ...]:
    """One look at one rank; one that ran sleeps for a moment, one that did not has stood for long."""
    ref = ProcessRef("n1", 70 + number, 1)
    switches = 3 + place if ran else 3
    task = KernelThread(ref.pid, "python", "S", "hrtimer_nanosleep" if ran else "futex_do_wait", voluntary=switches,
                        involuntary=0, still_s=0.02 if ran else 99.0)  # fmt: skip
    thread = PythonThread(ref.pid, stack, "MainThread", locals=(Local(0, "piece", piece, "int"),))
    return (Item(ref, Threads((task,), uptime_s=200.0 + place)), Item(ref, PythonStacks((thread,), engine="test")))


def job(*ranks: tuple[Stack, bool], moves: int = -1) -> Snapshot:
    """Two looks at ranks that stand in these stacks; the loop of one of them may turn."""
    sweeps = []
    refs = tuple(ProcessRef("n1", 70 + number, 1) for number in range(len(ranks)))
    for place in (0, 1):
        items = [item for number, (stack, ran) in enumerate(ranks)
                 for item in rank(number, place, stack, ran, str(place if number == moves else 7))]  # fmt: skip
        sweeps.append(Sweep(place, float(place), refs, tuple(items)))
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=number) for number, ref in enumerate(refs))
    return Snapshot(Job("torchrun"), processes=processes, sweeps=tuple(sweeps))


@pytest.mark.parametrize("second", [ASKS, ASKS_NEXT_LINE])
def test_ranks_that_ask_wait_for_the_one_that_stands(second: Stack) -> None:
    """Two lines of one loop are one place."""
    snapshot = job((ASKS, True), (second, True), (STANDS, False))
    assert {(wait.waiter.pid, wait.target and wait.target.pid) for wait in case_of(snapshot).graph.waits} == {
        (70, 72),
        (71, 72),
    }
    (cause,) = [one for one in judge(snapshot).findings if one.kind is Kind.CAUSE]
    assert (cause.cls, list(cause.ranks)) == ("rank-stuck-in-user-code", [2])


@pytest.mark.parametrize(
    ("ranks", "moves"),
    [
        (((ASKS, True), (ELSEWHERE, True), (STANDS, False)), -1),  # not together
        (((ASKS, True), (ASKS, True), (STANDS, False)), 0),  # one of them gets on
        (((ASKS, True), (ASKS, True), (STANDS, False)), 2),  # the one that stands gets on
        (((ASKS, True), (STANDS, False)), -1),  # one against one: who waits for whom cannot be told
    ],
)
def test_nobody_is_waited_for_where_it_could_be_otherwise(ranks: tuple[tuple[Stack, bool], ...], moves: int) -> None:
    assert case_of(job(*ranks, moves=moves)).graph.waits == ()
