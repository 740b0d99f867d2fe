"""An event loop that awaits the end of a command whose output nobody reads, and the ones that only look so."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame, LoopTask, PythonStacks, Stack
from rankscope.model.process import Role

LOOP = (MAIN, Frame("BaseEventLoop._run_once", f"{LIB}/asyncio/base_events.py", 1884))
ENDS = Frame("BaseSubprocessTransport._wait", f"{LIB}/asyncio/base_subprocess.py", 230)
READS = Frame("StreamReader.read", f"{LIB}/asyncio/streams.py", 693)


def rank(last: Frame, watched: tuple[int, ...] = (9,)) -> Body:
    """A rank whose event loop watches these descriptors, with one task that awaits this; 5 is the command's output."""
    held = OpenFiles((OpenFile(5, "pipe:[7]", "r"), OpenFile(9, "socket:[8]", "rw")))
    process, looks = body(70, One(LOOP, BlockedCall(0, "epoll_wait", watched), wchan="ep_poll"), role=Role.RANK, rank=0,
                          more=(held,))  # fmt: skip
    task = LoopTask("Task-1", Stack((STEP, last)), 70, "Future")
    made = tuple(
        tuple(dataclasses.replace(one, loop_tasks=(task,)) if isinstance(one, PythonStacks) else one for one in look)
        for look in looks
    )
    return process, made


def command(call: str = "write") -> Body:
    wchan = "pipe_write" if call == "write" else "pipe_read"
    return body(71, One((MAIN,), BlockedCall(0, call, (1,)), wchan=wchan), parent=70,
                more=(OpenFiles((OpenFile(1, "pipe:[7]", "w"),)),))  # fmt: skip


def test_a_loop_that_awaits_the_end_first_never_reads() -> None:
    assert causes(told(rank(ENDS), command(), launcher="none")) == {("wait-cycle", "queue-pipe-full")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(rank(ENDS, (5, 9)), command(), id="the loop watches the pipe"),
        pytest.param(rank(READS), command(), id="the task reads"),
        pytest.param(rank(ENDS), command("read"), id="the command waits for something else"),
    ],
)
def test_who_reads_or_waits_elsewhere_is_in_no_circle(one: Body, other: Body) -> None:
    assert "wait-cycle" not in {rule for rule, _ in causes(told(one, other, launcher="none"))}
