"""A function without a program below it is the end of a program where the interpreter runs modules, and else says nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from test_live_rules import LIB, Body, job, ranks, said

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import judge

RECEIVES = Frame("recv", f"{LIB}/site-packages/zmq/sugar/socket.py", 99)
CALLED = Body(72, Stack([Frame("execute", "/job/model.py", 12), RECEIVES]), rank=2)
MODULE = Frame("<module>", "/job/train.py", 50)


def of(executable: str | None, snapshot: Snapshot) -> Snapshot:
    processes = tuple(dataclasses.replace(one, executable=executable) for one in snapshot.processes)
    return dataclasses.replace(snapshot, processes=processes)


@pytest.mark.parametrize(
    ("executable", "ends"),
    [
        ("/usr/bin/python3.11", True),
        ("/opt/tritonserver/backends/python/triton_python_backend_stub", False),
        (None, False),
    ],
)
def test_an_interpreter_within_another_program_is_handed_functions_all_its_life(
    executable: str | None, ends: bool
) -> None:
    """Python's own executable runs a module until its end."""
    found = said(of(executable, job(*ranks(CALLED))), "does-not-end")
    assert (found is not None) is ends


def test_of_an_unknown_executable_a_process_of_the_same_program_tells() -> None:
    """All others of the job still stand in their module."""
    found = said(job(*ranks(CALLED, stack=Stack([MODULE, RECEIVES]))), "does-not-end")
    assert found is not None
    assert set(found.ranks) == {2}


HEAD = 'Process {pid}: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (idle): "MainThread"\n'
FINISHES = "    wait (threading.py:327)\n    join (queue.py:90)\n    finish (train.py:28)\n"
STEPS = "    all_reduce (torch/distributed/distributed_c10d.py:3252)\n    step (train.py:49)\n"
PROGRAM = "    <module> (train.py:54)\n"


@pytest.mark.parametrize(
    ("others", "mine", "rule"),
    [
        (STEPS + PROGRAM, FINISHES, "does-not-end"),
        (STEPS + PROGRAM, FINISHES + PROGRAM, "rank-in-user-code"),
        (STEPS, FINISHES, "rank-in-user-code"),
    ],
    ids=["a handler at exit", "a call of the program", "dumps that were cut"],
)
def test_of_saved_dumps_those_of_the_others_show_where_stacks_begin(
    others: str, mine: str, rule: str, tmp_path: Path
) -> None:
    for rank, stack in enumerate((others, others, mine)):
        (tmp_path / f"rank_{rank}_pid_{70 + rank}.txt").write_text(HEAD.format(pid=70 + rank) + stack)
    causes = [one for one in judge(gather([tmp_path])).findings if one.kind is Kind.CAUSE and list(one.ranks) == [2]]
    assert [one.rule for one in causes] == [rule]
