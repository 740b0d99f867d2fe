"""A thread that wants the CPU and hardly gets it is not standing still; a loop whose numbers change is at work."""

from __future__ import annotations

import pytest

from rankscope.analysis.progress import advances
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of

REF = ProcessRef("n1", 70, 1)
Clock = tuple[float, float]


def gets_on(
    clocks: tuple[Clock, Clock] = ((-1.0, -1.0), (-1.0, -1.0)),
    states: str = "RR",
    switches: int = 3,
    numbers: tuple[str, str] = ("5", "5"),
    cpu_s: float = 0.0,
) -> bool:
    """Whether a loop in the job's own code gets on that was seen twice, a second apart; ``clocks`` are its time on a CPU and
    its waits for one, ``switches`` how often it was made to give one up."""
    sweeps = []
    for place in (0, 1):
        task = KernelThread(70, "python", states[place], cpu_s=place * cpu_s, voluntary=3, involuntary=3 + place * switches,
                            ran_s=clocks[place][0], delayed_s=clocks[place][1])  # fmt: skip
        held = (Local(0, "number", numbers[place], "int"), Local(0, "ratio", str(place / 2), "float"))
        thread = PythonThread(70, Stack([Frame("index", "/job/run.py", 9)]), "MainThread", locals=held)
        items = (Item(REF, Threads((task,), uptime_s=9.0 + place)), Item(REF, PythonStacks((thread,), engine="test")))
        sweeps.append(Sweep(place, float(place), (REF,), items))
    process = Process(REF, Role.RANK, parent=1, comm="python", rank=0)
    case = case_of(Snapshot(Job("torchrun"), processes=(process,), sweeps=tuple(sweeps)))
    return advances(case.standings[REF])


@pytest.mark.parametrize(
    ("clocks", "on"),
    [
        (((7.0, 20.0), (7.9, 20.1)), False),  # had the CPU, and is where it was
        (((7.0, 20.0), (7.11, 20.9)), False),  # one of nine on a core: it had a ninth, which is enough to move
        (((7.0, 20.0), (7.02, 20.9)), True),  # a quota of a fiftieth
        (((7.0, 20.0), (7.0, 21.0)), True),  # never had its turn
        (((7.0, 20.0), (7.0, 20.1)), False),  # wanted too little for a share to mean something
    ],
)
def test_who_is_kept_from_the_cpu_is_not_standing(clocks: tuple[Clock, Clock], on: bool) -> None:
    """The share of what it wanted decides: a busy machine is no excuse for a loop that had its turns."""
    assert gets_on(clocks) is on


def test_one_that_sleeps_wants_no_cpu() -> None:
    """At one of the looks it was not ready to run: how little CPU it had says nothing."""
    for states in ("RS", "SR", "SS"):
        assert not gets_on(((7.0, 20.0), (7.0, 21.0)), states)


def test_without_clocks_the_switches_tell() -> None:
    """Ready at both looks, no CPU time and no switch: it never had its turn."""
    assert gets_on(switches=0)
    assert not gets_on(switches=3)
    assert not gets_on(switches=0, cpu_s=0.9)


@pytest.mark.parametrize(("numbers", "on"), [(("5", "9"), True), (("9", "5"), True), (("5", "5"), False)])
def test_a_number_that_changes_while_the_cpu_is_busy_is_work(numbers: tuple[str, str], on: bool) -> None:
    """It may be read in the middle of a step, with the value of another; what stays as it is was not touched."""
    assert gets_on(numbers=numbers) is on


def test_between_sleeps_only_a_number_that_grows_is_work() -> None:
    """A wait that counts down gets nowhere."""
    assert gets_on(states="SS", switches=1, numbers=("5", "9"))
    assert not gets_on(states="SS", switches=1, numbers=("9", "5"))
