"""Who waits for the server of a file system is named, also before its exec; the server that waits for requests is not."""

from __future__ import annotations

import pytest
from test_one_machine import LIB, MAIN, Body, One, body, causes, told

from rankscope.model.diagnosis import Diagnosis
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame
from rankscope.model.process import Role

STALL = ("filesystem-stall", "filesystem-stall")
STARTS = (MAIN, Frame("Popen._execute_child", f"{LIB}/subprocess.py", 1883))


def server() -> Body:
    serves = One((Frame("serve", "/job/mounts.py", 55),), BlockedCall(0, "read", (3,)), wchan="fuse_dev_do_read")
    return body(75, serves, parent=70, rank=0)


def starts_a_program(wchan: str) -> Diagnosis:
    """A rank that starts a program, of which the child has the frames of its parent until its exec."""
    parent = One(STARTS, BlockedCall(0, "read", (9,)), wchan="pipe_read")
    ends = OpenFiles((OpenFile(9, "pipe:[5]", "r"),))
    child = body(71, One(STARTS, wchan=wchan), parent=70, rank=0, forked=True,
                 more=(OpenFiles((OpenFile(8, "pipe:[5]", "w"),)),))  # fmt: skip
    return told(body(70, parent, role=Role.RANK, rank=0, more=(ends,)), child, server())


def test_a_child_whose_program_cannot_be_read_waits_for_its_file_system() -> None:
    found = starts_a_program("request_wait_answer")
    assert causes(found) == {STALL}
    assert [one.ref.pid for one in found.findings[0].processes] == [71]


@pytest.mark.parametrize("wchan", ["futex_wait_queue", "pipe_read"])
def test_one_that_waits_for_something_else_does_not(wchan: str) -> None:
    assert STALL not in causes(starts_a_program(wchan))


def test_a_server_without_requests_is_idle() -> None:
    alone = One((Frame("serve", "/job/mounts.py", 55),), BlockedCall(0, "read", (3,)), wchan="fuse_dev_do_read")
    assert STALL not in causes(told(body(70, alone), launcher="none"))
