"""A receive that names no source waits for whoever may still send."""

from __future__ import annotations

from rankscope.analysis.build import build
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep

C10D = "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
BARRIER, RECV, WORK = (("barrier", C10D),), (("recv", C10D),), ()


def waits(*calls: tuple[tuple[str, str], ...], source: str = "None") -> list[tuple[int, int | None, str]]:
    """Who waits for whom, when rank 0 stands in the first of these calls, rank 1 in the second …"""
    refs = tuple(ProcessRef("here", 100 + rank, 1) for rank in range(len(calls)))
    items = []
    for ref, call in zip(refs, calls, strict=True):
        stack = Stack(
            (Frame("main", "/job/train.py", 7), *(Frame(name, file, 9 if file else 0) for name, file in call))
        )
        told = (Local(1, "src", source), Local(1, "group_src", "None")) if call == RECV else ()
        thread = PythonThread(ref.pid, stack, "MainThread", locals=told)
        task = KernelThread(ref.pid, "python", "S", "futex_wait_queue", voluntary=9, involuntary=1, still_s=60.0)
        items += [Item(ref, PythonStacks((thread,), "memory")), Item(ref, Threads((task,)))]
    processes = tuple(Process(ref, Role.RANK, rank=rank, world_size=len(refs)) for rank, ref in enumerate(refs))
    case = build(Snapshot(Job("torchrun"), (), processes, (Sweep(0, 0.0, refs, tuple(items)),)))
    number = {ref: rank for rank, ref in enumerate(refs)}
    return [(number[one.waiter], number.get(one.target) if one.target else None, one.why) for one in case.graph.waits]


def test_it_waits_for_those_who_do_not_wait_themselves():
    found = [one for one in waits(RECV, BARRIER, WORK, BARRIER) if one[0] == 0]
    assert found == [(0, 2, "recv from any rank")]


def test_where_all_others_wait_nobody_can_send():
    found = [one for one in waits(RECV, BARRIER, BARRIER, RECV) if one[0] in (0, 3)]
    assert [(waiter, target) for waiter, target, _ in found] == [(0, None), (3, None)]
    assert "while all others wait themselves" in found[0][2]


def test_a_receive_that_names_its_source_waits_for_that_rank():
    found = [one for one in waits(RECV, BARRIER, WORK, WORK, source="3") if one[0] == 0]
    assert found == [(0, 3, "recv from rank 3")]


POSTED = (("c10d::ProcessGroupGloo::SendWork::wait", ""),)


def test_where_all_wait_for_messages_that_were_posted_nobody_posts_another():
    told = waits(POSTED, POSTED, POSTED)
    found = {(waiter, target) for waiter, target, _ in told}
    assert {why for _, _, why in told} == {
        "a message that was posted before, from or to one of the others, who all wait for messages themselves"
    }
    assert found == {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)}


def test_whoever_does_something_else_may_still_post_the_message():
    assert waits(POSTED, POSTED, WORK) == []
