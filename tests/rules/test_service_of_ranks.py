"""Rank 0 of a service waits for a request, its peers in the broadcast with which it hands it on: who brings the request tells."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import DIST, LIB, MAIN, STEP, Body, One, body, told

from rankscope.model.diagnosis import Certainty, Kind
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, PythonStacks
from rankscope.model.process import Role

TAKES = One((MAIN, STEP, Frame("Queue.get", f"{LIB}/queue.py", 171), Frame("Condition.wait", f"{LIB}/threading.py", 327)),
            BlockedCall(0, "futex"))  # fmt: skip
ACCEPTS = One(
    (MAIN, STEP, Frame("socket.accept", f"{LIB}/socket.py", 294)),
    BlockedCall(0, "accept4", (3,)),
    wchan="inet_csk_accept",
)
LISTENS = One((Frame("BaseServer.serve_forever", f"{LIB}/socketserver.py", 233), Frame("select", f"{LIB}/selectors.py", 415)),
              BlockedCall(0, "poll", (3,), timed=True), wchan="do_sys_poll", still_s=0.2, turns=9)  # fmt: skip
FOLLOWS = One((MAIN, Frame("follow", "/job/train.py", 80), Frame("broadcast", DIST, 2000)), BlockedCall(0, "futex"))
PORT = (OpenFiles((OpenFile(3, "socket:[9]", "rw"),)), Sockets((Socket(9, "tcp", "0.0.0.0:80", state="listen"),)))


def service(*threads: One) -> list[Body]:
    first = body(70, *threads, rank=0, role=Role.RANK, more=PORT)
    return [first, *(body(70 + rank, FOLLOWS, rank=rank, role=Role.RANK) for rank in (1, 2))]


def of_library(made: Body) -> Body:
    """The same process, whose last thread is none of Python."""
    process, looks = made

    def without(record: object) -> object:
        return dataclasses.replace(record, threads=record.threads[:-1]) if isinstance(record, PythonStacks) else record

    return process, tuple(tuple(map(without, look)) for look in looks)


@pytest.mark.parametrize("threads", [(TAKES, LISTENS), (ACCEPTS,)])
def test_who_waits_for_a_caller_keeps_nobody_waiting(threads: tuple[One, ...]) -> None:
    found = told(*service(*threads), launcher="environment", world=3)
    assert not [one for one in found.findings if one.kind is Kind.CAUSE]


def test_a_thread_of_a_library_that_listens_brings_no_request() -> None:
    """That of gloo listens for its peers. Who else may bring one nothing tells: it is possible that nobody does."""
    first, *others = service(TAKES, LISTENS)
    found = told(of_library(first), *others, launcher="environment", world=3)
    assert [(one.cls, one.certainty, list(one.ranks)) for one in found.findings if one.kind is Kind.CAUSE] == [
        ("rank-stuck-in-user-code", Certainty.POSSIBLE, [0])
    ]
