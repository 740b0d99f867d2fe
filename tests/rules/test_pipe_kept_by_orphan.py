"""The output of a command that has ended is kept open by what it left running; and what looks like that."""

from __future__ import annotations

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, told

from rankscope.model.diagnosis import Certainty, Kind
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame

RULE = "pipe-kept-by-orphan"
COMMUNICATE = Frame("Popen.communicate", f"{LIB}/subprocess.py", 1209)
JOIN = Frame("Thread.join", f"{LIB}/threading.py", 1119)
LOOP = Frame("BaseEventLoop._run_once", f"{LIB}/asyncio/base_events.py", 1898)
SELECT = Frame("EpollSelector.select", f"{LIB}/selectors.py", 468)
READS = One((MAIN, STEP, COMMUNICATE), BlockedCall(0, "poll", (5, 6)), wchan="do_poll.constprop.0")
POLLS = One((MAIN, LOOP, SELECT), BlockedCall(0, "epoll_wait", (5, 7)), wchan="ep_poll")
JOINS = One((MAIN, JOIN), BlockedCall(0, "futex"))
ENDED = body(71, One((), state="Z", wchan=""), parent=70, exit_status=0)
PAIR = Sockets((Socket(21, "unix", peer_inode=22), Socket(22, "unix", peer_inode=21)))
SERVED = Sockets((Socket(21, "tcp", "10.0.0.1:80", "10.0.0.2:9999"),))


def reader(*threads: One, fd: int = 5, parent: int = 1, ends: Sockets = PAIR, keeper: int = 99) -> Body:
    files = (OpenFile(fd, "pipe:[3]", "r"), OpenFile(6, "pipe:[4]", "r"), OpenFile(7, "socket:[21]", "rw"),
             OpenFile(8, "socket:[22]", "rw"))  # fmt: skip
    beside = Outsiders((Outsider(keeper, "sleep", "S", fd, 3, parent),))
    return body(70, *threads, more=(OpenFiles(files), ends, beside))


@pytest.mark.parametrize(("threads", "beside", "cls", "certainty"), [
    ((READS,), (ENDED,), "child-dead", Certainty.LIKELY), ((JOINS, READS), (ENDED,), "child-dead", Certainty.LIKELY),
    ((JOINS, READS, READS), (), "rank-stuck-in-user-code", Certainty.POSSIBLE),
])  # fmt: skip
def test_who_keeps_the_pipe_open_is_named(
    threads: tuple[One, ...], beside: tuple[Body, ...], cls: str, certainty: Certainty
) -> None:
    """Also where the main thread joins those that read."""
    found = told(reader(*threads), *beside, launcher="none")
    (cause,) = [one for one in found.findings if one.rule == RULE]
    assert (cause.kind, cause.cls, cause.certainty) == (Kind.CAUSE, cls, certainty)
    assert [one.ref.pid for one in cause.processes] == [70, 99]


@pytest.mark.parametrize(("ends", "found"), [(PAIR, True), (SERVED, False)])
def test_an_event_loop_that_has_connections_waits_for_more_than_the_pipe(ends: Sockets, found: bool) -> None:
    """Its own wake-up pair is no connection."""
    said = told(reader(POLLS, ends=ends), ENDED, launcher="none")
    assert (RULE in {one.rule for one in said.findings}) is found


@pytest.mark.parametrize("threads", [(READS,), (JOINS, READS)])
def test_one_cause_is_enough_where_the_program_itself_reads(threads: tuple[One, ...]) -> None:
    """No child has ended: where it stands, and who has the other end, says all there is; also where the main thread joins it."""
    (cause,) = [one for one in told(reader(*threads), launcher="none").findings if one.kind is Kind.CAUSE]
    assert cause.rule == "rank-in-user-code"
    assert [one.ref.pid for one in cause.processes] == [70, 99]


HOLDS = body(72, One(call=BlockedCall(0, "futex")), parent=70, more=(OpenFiles((OpenFile(5, "pipe:[3]", "w"),)),))
YOUNG = One(READS.frames, READS.call, wchan=READS.wchan, still_s=3.0)


@pytest.mark.parametrize(("process", "beside"), [
    pytest.param(reader(One((MAIN, STEP), BlockedCall(0, "read", (0,))), fd=0), (), id="standard input"),
    pytest.param(reader(READS), (HOLDS,), id="a child may write"),
    pytest.param(reader(READS, keeper=1), (), id="whoever started it may write"),
    pytest.param(reader(READS, parent=70), (), id="a child of it that was not looked at"),
    pytest.param(reader(YOUNG), (), id="has just come"),
    pytest.param(reader(One((MAIN, STEP), BlockedCall(0, "futex")), READS), (), id="the main thread waits for another thing"),
])  # fmt: skip
def test_pipes_that_somebody_may_rightly_keep_open(process: Body, beside: tuple[Body, ...]) -> None:
    assert RULE not in {one.rule for one in told(process, *beside, ENDED, launcher="none").findings}
