"""What a thread wants of its own process, and what it waits for elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rankscope.analysis.frame_tables import WaitKind
from rankscope.analysis.frames import wait_of
from rankscope.analysis.threads import ThreadView
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.stacks import Frame, PythonThread, Stack, Trust
from rankscope.model.evidence.threads import KernelThread

SITE = "/v/lib/python3.11/site-packages/"


def view(file: str, owner: int = 0) -> ThreadView:
    """A thread asleep on a futex whose last frame is in this file."""
    stack = Stack((Frame("main", "/home/u/train.py", 5), Frame("step", file, 10)))
    task = KernelThread(7, "python", "S", "futex_wait_queue", voluntary=9, involuntary=1, still_s=60.0)
    waits = replace(wait_of(stack), kind=WaitKind.LOCK)
    call = BlockedCall(7, "futex", address=1 << 40, owner=owner)
    return ThreadView(PythonThread(7, stack, "MainThread", Trust.EXACT), task, waits, call)


@pytest.mark.parametrize("file", ["nn/parallel/distributed.py", "distributed/fsdp/api.py", "autograd/graph.py"])
def test_torchs_own_waits_for_other_ranks_are_no_locks_of_the_program(file: str) -> None:
    assert not view(f"{SITE}torch/{file}").wants_lock
    assert view(f"{SITE}torch/{file}", owner=9).wants_lock  # an owner that was read from memory is a fact


def test_a_lock_taken_in_the_jobs_own_code_is_one() -> None:
    assert view("/home/u/train.py").wants_lock
