"""A function without a program below it is the end of a program where the interpreter runs modules, and else says nothing."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import LIB, Body, job, ranks, said

from rankscope.model.evidence.stacks import Frame, Stack
from rankscope.model.snapshot import Snapshot

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
