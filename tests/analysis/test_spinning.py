"""Ranks that spin in a call that waits for others are waiting, for as long as every look found them there."""

from __future__ import annotations

import dataclasses

import pytest

from rankscope.analysis.patience import left_s
from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.stacks import MPI, Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

MAIN = Frame("main", "/job/train.py", 9)
MEETS = Stack([MAIN, Frame("allreduce", MPI)])
RECEIVES = Stack([MAIN, Frame("recv", MPI)])
SENDS = Stack([MAIN, Frame("Send", MPI)])
LOCKS = Stack([MAIN, Frame("Lock", MPI)])
OPENS = Stack([Frame("main", "/job/train.py", 12), Frame("Open", MPI)])
TELLS = Stack([Frame("main", "/job/train.py", 12), Frame("bcast", MPI)])
TUNES = Stack([MAIN, Frame("tune", "/job/train.py", 33)])


def rank(number: int, place: int, every_s: float, stack: Stack, step: int, sleeps: int) -> tuple[Item, ...]:
    """One look at one rank that uses its CPU."""
    ref = ProcessRef("n1", 70 + number, 1)
    task = KernelThread(ref.pid, "python", "R", cpu_s=place * every_s, voluntary=3 + sleeps * place,
                        involuntary=place, still_s=0.0)  # fmt: skip
    thread = PythonThread(ref.pid, stack, "MainThread", locals=(Local(0, "step", str(step), "int"),))
    return (
        Item(ref, Threads((task,), uptime_s=200.0 + place * every_s)),
        Item(ref, PythonStacks((thread,), engine="test")),
    )


def job(
    away: Stack = TUNES,
    looks: int = 5,
    every_s: float = 10.0,
    steps: tuple[int, ...] = (),
    sleeps: int = 0,
    here: Stack = MEETS,
) -> Snapshot:
    """Two ranks in an all-reduce (or ``here``), and one ``away``; ``steps`` are values of a counter of rank 0, look by look."""
    refs = tuple(ProcessRef("n1", 70 + number, 1) for number in range(3))
    stacks = (here, here, away)
    sweeps = tuple(
        Sweep(place, place * every_s, refs, tuple(
            item for number in range(3)
            for item in rank(number, place, every_s, stacks[number], steps[place] if steps and number == 0 else 7, sleeps)
        ))
        for place in range(looks)
    )  # fmt: skip
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=number) for number, ref in enumerate(refs))
    return Snapshot(Job("mpi", root=refs[0]), processes=processes, sweeps=sweeps)


def accused(snapshot: Snapshot) -> list[int]:
    return [each for finding in judge(snapshot).findings if finding.kind is Kind.CAUSE for each in finding.ranks]


def test_ranks_that_spin_wait_for_the_one_that_is_elsewhere() -> None:
    """Five looks over forty seconds found them in the call."""
    assert accused(job()) == [2]
    assert left_s(case_of(job())) is None


@pytest.mark.parametrize(
    "snapshot",
    [
        job(looks=3, every_s=20.0),  # too few looks: it may be chance
        job(every_s=1.0),  # too young
        job(sleeps=2),  # they slept in between, so that the kernel tells an age
        job(away=MEETS),  # everybody is in the call
    ],
)
def test_nobody_is_accused_before_it_is_certain_that_they_stand_there(snapshot: Snapshot) -> None:
    assert accused(snapshot) == []


def test_ranks_that_spin_in_different_collectives_do_not_meet() -> None:
    (found,) = [one for one in judge(job(away=TELLS)).findings if one.kind is Kind.CAUSE]
    assert (found.cls, list(found.ranks)) == ("collective-missed-by-rank", [2])
    assert left_s(case_of(job(away=TELLS, looks=2, every_s=12.0))) == 18.0


def test_opening_a_file_of_all_ranks_is_a_collective() -> None:
    (found,) = [one for one in judge(job(away=OPENS)).findings if one.kind is Kind.CAUSE]
    assert (found.cls, list(found.ranks)) == ("collective-missed-by-rank", [2])


def test_the_lock_of_a_window_is_given_back_by_nobody_who_waits_for_its_waiter() -> None:
    (found,) = [one for one in judge(job(away=LOCKS)).findings if one.kind is Kind.CAUSE]
    assert (found.cls, list(found.ranks)) == ("lock-order-deadlock", [])


def test_whoever_has_the_lock_of_a_window_may_be_at_work() -> None:
    """Two ranks want it, and the third one computes: it may have it, and gives it back."""
    assert accused(job(here=LOCKS, looks=4, every_s=1.0)) == []
    assert not any(one.cls == "lock-order-deadlock" for one in judge(job(here=LOCKS)).findings)


@pytest.mark.parametrize("here", [SENDS, RECEIVES])
def test_ranks_that_all_send_or_all_receive_wait_in_a_circle(here: Stack) -> None:
    """Whoever the partner is, it does the same."""
    (found,) = [one for one in judge(job(here=here, away=here)).findings if one.kind is Kind.CAUSE]
    assert (found.cls, list(found.ranks)) == ("p2p-order-deadlock", [])
    assert left_s(case_of(job(here=here, away=here, looks=2, every_s=12.0))) == 18.0


def test_who_receives_may_be_the_partner_of_who_sends() -> None:
    assert accused(job(here=SENDS, away=RECEIVES)) == []
    assert not [one for one in judge(job(here=SENDS, away=RECEIVES)).findings if one.kind is Kind.CAUSE]


def test_ranks_in_different_collectives_that_go_on_are_looked_at_no_longer() -> None:
    assert left_s(case_of(job(away=TELLS, looks=2, steps=(1, 2)))) is None


def test_a_loop_that_turns_around_the_call_is_no_wait() -> None:
    """The counter of rank 0 grew, so that its calls returned; rank 1 alone still tells."""
    moving = case_of(job(steps=(1, 2, 3, 4, 5)))
    ages = [moving.standings[ref.ref].still_s for ref in moving.snapshot.processes]
    assert ages == [0.0, 40.0, 0.0]


def test_the_look_goes_on_until_it_is_certain() -> None:
    """For as long as is missing of what counts as stuck, and at least for as many looks as rule out chance."""
    assert left_s(case_of(job(looks=2, every_s=12.0))) == 18.0
    assert left_s(case_of(job(looks=2, every_s=50.0))) == 0.3


@pytest.mark.parametrize(
    "snapshot",
    [
        job(away=MEETS, looks=2),
        job(looks=2, sleeps=1),
        dataclasses.replace(job(looks=2), complete=False),
    ],
)
def test_nothing_is_left_to_look_for(snapshot: Snapshot) -> None:
    """Everybody has arrived, the ranks sleep, or the look was cut short."""
    assert left_s(case_of(snapshot)) is None
