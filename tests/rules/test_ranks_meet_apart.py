"""Ranks that were told to meet in different files or ports, and those that meet in one."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

from rankscope.analysis.patience import left_s
from rankscope.model.diagnosis import Certainty, Finding, State
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.ranks import RankSet
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import memory

C10D = "/usr/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
MEETS = Stack([Frame("main", "/job/train.py", 9), Frame("init_process_group", C10D, 1899)])
LATE = Stack([Frame("main", "/job/train.py", 5)])
FILE, OTHER = "file:///job/meet-22", "file:///job/meet-21"


def job(*places: str, looks: int = 5, every_s: float = 10.0, world: int = 0) -> Snapshot:
    """Ranks by where each was told to meet, "" for one that has not come; who asks a file wakes all the time."""
    refs = tuple(ProcessRef("n1", 70 + rank, 1) for rank in range(len(places)))

    def items(at: int, ref: ProcessRef, place: str) -> tuple[Item, ...]:
        asks = place.startswith("file:") or not place
        task = KernelThread(
            ref.pid, "python", "S", voluntary=9 * at if asks else 3, involuntary=0, still_s=0.01 if asks else 99.0
        )
        locals_ = (Local(1, "meeting point", place, "address"),) if place else (Local(0, "step", str(at), "int"),)
        thread = PythonThread(ref.pid, MEETS if place else LATE, "MainThread", locals=locals_)
        return Item(ref, Threads((task,), uptime_s=200.0 + at * every_s)), Item(
            ref, PythonStacks((thread,), engine="test")
        )

    sweeps = tuple(
        Sweep(
            at,
            at * every_s,
            refs,
            tuple(one for ref, place in zip(refs, places, strict=True) for one in items(at, ref, place)),
        )
        for at in range(looks)
    )
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=rank) for rank, ref in enumerate(refs))
    return Snapshot(
        Job("environment", root=refs[0], world_size=world or len(places)), processes=processes, sweeps=sweeps
    )


def said(snapshot: Snapshot) -> Finding | None:
    return next((one for one in judge(snapshot).findings if one.rule == "ranks-meet-apart"), None)


@pytest.mark.parametrize(
    ("places", "blamed"),
    [
        ((FILE, OTHER, FILE), RankSet([1])),
        ((FILE, OTHER), RankSet()),  # either may be the wrong one
        (("tcp://n1:29500", "tcp://n1:29500", "tcp://n1.cluster:29501"), RankSet([2])),
    ],
)
def test_ranks_that_meet_apart(places: tuple[str, ...], blamed: RankSet) -> None:
    found = said(job(*places))
    assert found is not None
    assert (found.ranks, found.certainty) == (blamed, Certainty.LIKELY)
    assert judge(job(*places)).state is State.STUCK


def test_one_file_for_all_may_be_an_old_one() -> None:
    found = said(job(FILE, FILE))
    assert found is not None
    assert found.certainty is Certainty.POSSIBLE
    assert said(job("tcp://n1:29500", "tcp://n1:29500")) is None


@pytest.mark.parametrize(
    "snapshot",
    [
        job(FILE, FILE, world=3),  # the third one is on its way
        job(FILE, FILE, ""),
        job(FILE, OTHER, every_s=1.0),
        job(FILE, OTHER, looks=3, every_s=20.0),  # found there by chance
        job("tcp://n1:29500", "tcp://10.0.0.1:29500"),  # two names of one host
        job("env://", "env://"),
    ],
)
def test_a_young_meeting_or_one_that_is_not_complete_accuses_nobody(snapshot: Snapshot) -> None:
    assert said(snapshot) is None


def test_the_look_goes_on_while_all_ask_a_file() -> None:
    assert left_s(case_of(job(FILE, OTHER, looks=2, every_s=12.0))) == 18.0
    assert left_s(case_of(job(FILE, OTHER, "", looks=2, every_s=12.0))) is None
    assert left_s(case_of(job("tcp://n1:1", "tcp://n1:1", looks=2, every_s=12.0))) is None


def test_where_a_rank_meets_is_read_from_its_call(tmp_path: pathlib.Path) -> None:
    """Of other strings nothing is."""
    path = tmp_path / "torch" / "distributed" / "distributed_c10d.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import time\n"
        "def init_process_group(backend, init_method=None):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(1000)\n"
        f"init_process_group('gloo', {FILE!r})\n"
    )
    with subprocess.Popen(["python3", str(path)], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            answer = memory.make().stacks(ProcessRef("here", child.pid), None, None, StackOptions())
        finally:
            child.kill()
    assert isinstance(answer, PythonStacks)
    assert {(one.name, one.value) for one in answer.threads[0].locals if one.type in ("str", "address")} == {
        ("meeting point", FILE)
    }
