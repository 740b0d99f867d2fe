"""A pid names a process of its own host: in containers the processes of every host are counted from one."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import BORN, LIB, MAIN, REDUCES, Body, job, said

from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import ProcessRef, Role
from rankscope.pipeline import case_of

JOINS = Stack([MAIN, Frame("join", f"{LIB}/multiprocessing/process.py", 149)])


@dataclasses.dataclass(frozen=True)
class Placed(Body):
    """A process of a host by name."""

    host: str = "n1"

    @property
    def ref(self) -> ProcessRef:
        return ProcessRef(self.host, self.pid, 1)


@pytest.mark.parametrize(("host", "told"), [("n1", True), ("n2", False)])
def test_who_keeps_a_pipe_full_is_on_the_host_of_its_writer(host: str, told: bool) -> None:
    """The number of a pipe, too, is one of its host."""
    pipe = OpenFiles((OpenFile(5, "pipe:[11]", "rw"),))
    feed = PythonThread(91, Stack([Frame("_feed", f"{LIB}/multiprocessing/queues.py", 260)]), "QueueFeederThread")
    ends = Stack([BORN, Frame("_finalize_join", f"{LIB}/multiprocessing/queues.py", 200)])
    child = Placed(90, ends, Role.OTHER, parent=72, threads=(feed,),
                   more=(Blocked((BlockedCall(91, "write", (5,)),)), pipe), host="n1")  # fmt: skip
    parent = Placed(72, JOINS, rank=2, more=(pipe,), host=host)
    reader = Placed(73, REDUCES, rank=1, more=(pipe,), host="n1")  # so that the pipe is not left to its writer alone
    found = said(job(parent, child, reader), "feeder-blocked")
    assert (found is not None) is told


@pytest.mark.parametrize(("host", "rank"), [("n1", 2), ("n2", None)])
def test_a_body_is_the_missing_rank_where_it_is_a_sibling_of_the_others(host: str, rank: int | None) -> None:
    end = Threads((KernelThread(72, "python", "Z"),), exit_status=9)
    others = (Placed(70 + at, rank=at, parent=7, host="n1") for at in (0, 1, 3))
    body = Placed(172, None, Role.OTHER, parent=7, state="Z", more=(end,), host=host)
    case = case_of(job(*others, body))
    assert case.by_ref[body.ref].rank == rank


@pytest.mark.parametrize(("host", "told"), [("n1", True), ("n2", False)])
def test_who_bears_the_command_of_its_parent_may_be_forked(host: str, told: bool) -> None:
    locked = Stack(
        [MAIN, Frame("emit", f"{LIB}/logging/__init__.py", 1100), Frame("acquire", f"{LIB}/logging/__init__.py", 900)]
    )
    worker = Frame("worker", f"{LIB}/multiprocessing/pool.py", 125)
    parent = Placed(72, JOINS, rank=2, comm="job", host=host)
    child = Placed(90, Stack([BORN, worker, *locked]), Role.OTHER, parent=72, comm="job", host="n1")
    found = said(job(parent, child), "fork-took-a-lock")
    assert (found is not None) is told
