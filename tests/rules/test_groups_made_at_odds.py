"""Ranks that make groups with each other in different places, beside those that only wait their turn."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind
from rankscope.model.evidence.recorder import GroupConfig, Recorder, RecorderEntry
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

C10D = "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
Place = tuple[int, list[str], str, str]


def makes(line: int, members: str, name: str = "") -> Place:
    """A rank that makes a group on this line, which torch calls by that name."""
    return line, ["new_group", "_new_process_group_helper"], members, name


def told(*places: Place, still_s: float = 99.0, backend: str = "gloo") -> Diagnosis:
    """What is said of ranks by where they stand; those in an all_reduce recorded it, as the first of the group of ranks 2-3."""
    refs = tuple(ProcessRef("n1", 70 + rank, 1) for rank in range(len(places)))
    items = []
    for ref, (line, functions, members, name) in zip(refs, places):
        stack = Stack((Frame("step", "/job/train.py", line), *(Frame(name, C10D, 9) for name in functions)))
        known = (Local(2, "global_ranks_in_group", members), Local(2, "group name", name)) if members else ()
        ring = [RecorderEntry(1, "0", "default_pg", 1, "all_reduce", backend=backend, done=True, created_ns=10**9)]
        if functions == ["all_reduce"]:
            ring.append(
                RecorderEntry(2, "1", "undefined", 1, "all_reduce", backend=backend, done=False, created_ns=2 * 10**9)
            )
        task = KernelThread(ref.pid, "python", "S", "futex_wait_queue", voluntary=3, involuntary=0, still_s=still_s)
        groups = (GroupConfig("0", "default_pg", (0, 1, 2, 3)), GroupConfig("1", "undefined", (2, 3)))
        items += [
            Item(ref, Threads((task,), uptime_s=120.0)),
            Item(ref, PythonStacks((PythonThread(ref.pid, stack, locals=known),), engine="test")),
            Item(ref, Recorder(tuple(ring), groups=groups, source="memory", read_at_ns=110 * 10**9)),
        ]
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=rank) for rank, ref in enumerate(refs))
    sweeps = tuple(Sweep(at, float(at), refs, tuple(items)) for at in (0, 1))
    return judge(Snapshot(Job("torchrun", world_size=len(places)), processes=processes, sweeps=sweeps))


def causes(found: Diagnosis) -> list[Finding]:
    return [one for one in found.findings if one.kind is Kind.CAUSE]


ON: Place = (11, ["all_reduce"], "", "")
LATE: Place = (20, [], "", "")


@pytest.mark.parametrize(
    ("places", "odd"),
    [
        pytest.param((makes(7, "[0, 1]"), makes(6, "[0, 1]"), ON, ON), [0, 1], id="two lines"),
        pytest.param((makes(6, "[0, 1]"), makes(6, "[0, 1, 2]"), ON, ON), [0, 1], id="other members"),
        pytest.param((makes(6, "[0, 1]"), *(makes(7, "[0, 1, 2]"),) * 2, ON), [0], id="one in another order than two"),
    ],
)
def test_two_ranks_that_make_groups_with_each_other_in_two_places(places: tuple[Place, ...], odd: list[int]) -> None:
    """That the group of the others does not get through its first call follows from it."""
    (cause,) = causes(told(*places))
    assert (cause.rule, cause.cls, list(cause.ranks)) == ("groups-made-at-odds", "collective-mismatch", odd)
    assert cause.certainty is Certainty.LIKELY
    assert not any("nccl" in str(step).lower() for step in cause.next)


def test_one_that_was_not_in_the_making_of_an_earlier_group() -> None:
    """All stand on one line with the same members; the names that torch gives count the groups that a rank has made."""
    world = "[0, 1, 2, 3]"
    (cause,) = causes(told(*(makes(6, world, "2"),) * 3, makes(6, world, "1")))
    assert (cause.rule, cause.cls, list(cause.ranks)) == ("groups-made-at-odds", "collective-missed-by-rank", [3])


@pytest.mark.parametrize(
    ("places", "still_s"),
    [
        pytest.param((makes(6, "[0, 1]"), makes(6, "[0, 1]"), ON, ON), 99.0, id="one place"),
        pytest.param((makes(6, "[0, 1]", "2"), makes(6, "[0, 1]", "2"), ON, ON), 99.0, id="one name"),
        pytest.param((makes(6, "[0, 1]", "2"), makes(6, "[0, 1]"), ON, ON), 99.0, id="one name was not read"),
        pytest.param(
            (LATE, makes(6, "[0, 1]"), makes(6, "[1, 2]"), LATE), 99.0, id="one waits for the group before it"
        ),
        pytest.param(
            (makes(6, "[0, 1]"), makes(6, "[0, 1]"), makes(7, "[2, 3]"), makes(7, "[2, 3]")), 99.0, id="two groups"
        ),
        pytest.param((makes(7, "[0, 1]"), makes(6, "[0, 1]"), ON, ON), 9.0, id="they have just come"),
    ],
)
def test_who_makes_groups_in_turn_is_not_at_odds(places: tuple[Place, ...], still_s: float) -> None:
    assert "groups-made-at-odds" not in {cause.rule for cause in causes(told(*places, still_s=still_s))}


@pytest.mark.parametrize(
    ("others", "sure"), [((ON, ON), Certainty.LIKELY), ((makes(6, "[0, 1]"),) * 2, Certainty.POSSIBLE)]
)
def test_what_ranks_outside_the_group_stand_in_may_be_why_it_does_not_get_on(
    others: tuple[Place, ...], sure: Certainty
) -> None:
    found = next(one for one in told(*others, ON, ON).findings if one.cls == "stuck-below-program")
    assert found.certainty is sure
    assert any("ranks 0-1 stand elsewhere" in text for text in found.against) == (sure is Certainty.POSSIBLE)


@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_the_tools_that_are_named_are_those_of_the_library_in_use(backend: str) -> None:
    found = next(one for one in told(*(ON,) * 4, backend=backend).findings if one.cls == "stuck-below-program")
    assert any("NCCL_DEBUG" in str(step) for step in found.next) == (backend == "nccl")
