"""Of ranks that part at a call: who is missing from a group that others make, and who passed another root than the most."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Finding, Kind
from rankscope.model.evidence.recorder import Recorder, RecorderEntry
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge

C10D = "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
STEP = Frame("step", "/job/train.py", 12)
Place = tuple[list[str], dict[tuple[int, str], str], list[tuple[str, bool]]]


def cause(*places: Place) -> Finding | None:
    """What is said of ranks by their frames in torch, the locals of these, and the calls that they recorded (done or not)."""
    refs = tuple(ProcessRef("n1", 70 + rank, 1) for rank in range(len(places)))
    items = []
    for ref, (functions, known, calls) in zip(refs, places):
        stack = Stack((STEP, *(Frame(name, C10D, 9) for name in functions)))
        told = tuple(Local(depth, name, value) for (depth, name), value in known.items())
        task = KernelThread(ref.pid, "python", "S", "futex_wait_queue", voluntary=3, involuntary=0, still_s=99.0)
        ring = tuple(RecorderEntry(at, "0", "default_pg", at, op, backend="gloo", done=done, created_ns=at * 10**9)
                     for at, (op, done) in enumerate(calls, 1))  # fmt: skip
        items += [
            Item(ref, Threads((task,), uptime_s=120.0)),
            Item(ref, PythonStacks((PythonThread(ref.pid, stack, locals=told),), engine="test")),
            Item(ref, Recorder(ring, source="memory", read_at_ns=110 * 10**9)),
        ]
    processes = tuple(Process(ref, Role.RANK, parent=1, comm="python", rank=rank) for rank, ref in enumerate(refs))
    sweeps = tuple(Sweep(at, float(at), refs, tuple(items)) for at in (0, 1))
    found = judge(Snapshot(Job("torchrun", world_size=len(places)), processes=processes, sweeps=sweeps))
    return next((one for one in found.findings if one.kind is Kind.CAUSE), None)


DONE = [("all_reduce", True)]
ON: Place = (["all_reduce"], {}, [*DONE, ("all_reduce", False)])


def making(members: str) -> Place:
    told = {(2, "global_ranks_in_group"): members} if members else {}
    return ["new_group", "_new_process_group_helper"], told, DONE


@pytest.mark.parametrize(
    ("places", "blamed"),
    [
        ((ON, ON, making("[2, 3]"), ON), [3]),
        ((making("[0, 1, 2]"), ON, making("[0, 1, 2]")), [1]),
        ((making(""), ON, making("")), [1]),
        ((ON, ON, making("[0, 1, 2]")), [2]),
        ((ON, ON, making("")), [2]),
    ],
)
def test_members_who_went_on_without_the_group_are_named(places: tuple[Place, ...], blamed: list[int]) -> None:
    """As long as they are fewer; of a group of two, whoever is not where it is made."""
    found = cause(*places)
    assert found is not None
    assert (found.rule, list(found.ranks)) == ("recorder-missed", blamed)


@pytest.mark.parametrize(
    ("places", "title", "reason"),
    [
        (
            (ON, ON, making("[2, 3]"), ON),
            " while rank 2 makes a group with it",
            "rank 2 makes a group of ranks 2-3 in ",
        ),
        ((ON, making(""), making("")), " while ranks 1-2 make a group with it", "rank 1 makes a group in "),
    ],
)
def test_where_the_others_make_their_group_is_told(places: tuple[Place, ...], title: str, reason: str) -> None:
    found = cause(*places)
    assert found is not None
    assert found.title.endswith(title)
    assert [one.text for one in found.because if one.text.startswith(reason[:6]) and " in step" in one.text] == [
        f"{reason}step (train.py:12)"
    ]


AWAITS: Place = (["send"], {}, DONE)
MEETS: Place = (["monitored_barrier"], {}, DONE)


@pytest.mark.parametrize(
    ("places", "blamed"),
    [
        ((AWAITS, AWAITS, ON, AWAITS), [2]),
        ((AWAITS, ON, AWAITS), [1]),
        ((ON, AWAITS, ON), [1]),
        ((ON, ON, AWAITS, AWAITS), [2, 3]),
        ((MEETS, MEETS, ON, MEETS), [2]),
        ((ON, MEETS, ON), [1]),
        ((ON, ON, MEETS, MEETS), [2, 3]),
    ],
)
def test_the_few_who_went_on_while_the_others_wait_unrecorded_are_named(
    places: tuple[Place, ...], blamed: list[int]
) -> None:
    """Where no more ranks wait for messages, or in a barrier that recorders do not hold, those who have not come are."""
    found = cause(*places)
    assert found is not None
    assert (found.rule, list(found.ranks)) == ("recorder-missed", blamed)


def sends(root: str) -> Place:
    """In the first of the two calls that hand out objects."""
    known = {(1, "group_src"): root, (2, "group_src"): root}
    return ["scatter_object_list", "broadcast"], known, [*DONE, ("broadcast", False)]


def went_through(root: str, outer: str = "scatter_object_list") -> Place:
    known = {(1, "group_src"): root, (2, "group_src"): root}
    return [outer, "scatter"], known, [*DONE, ("broadcast", True), ("scatter", False)]


@pytest.mark.parametrize(
    ("second", "blamed"),
    [
        (went_through("0"), [2]),
        (went_through("1"), [0]),
        (went_through("0", outer="scatter"), []),
    ],
)
def test_who_is_through_with_a_call_of_objects_tells_which_root_is_odd(second: Place, blamed: list[int]) -> None:
    """One who has gone on to another call altogether says nothing about this one."""
    found = cause(sends("0"), second, sends("1"))
    assert found is not None
    assert (found.rule, list(found.ranks)) == ("recorder-mismatch", blamed)
