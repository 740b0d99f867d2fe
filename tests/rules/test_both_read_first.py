"""Processes that all read before they write, over FIFOs, pipes and connections, and those of which another thread may write."""

from __future__ import annotations

import pytest
from test_one_machine import JOIN, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.diagnosis import Certainty, Kind
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets

READS = One((MAIN, STEP), BlockedCall(0, "read", (3,)), wchan="pipe_read")
JOINS = One((MAIN, JOIN), BlockedCall(0, "wait4", child=71), wchan="do_wait")
NAPS = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep")
LISTENS = One((MAIN, STEP), BlockedCall(0, "accept4", (9,)), wchan="inet_csk_accept")
WAITS = One((MAIN, STEP), BlockedCall(0, "futex"))
RULE = ("wait-cycle", "p2p-order-deadlock")


def child(pid: int, *beside: One, paths: tuple[str, str] = ("/tmp/a", "/tmp/b")) -> Body:
    inbox, outbox = paths if pid == 71 else paths[::-1]
    return body(pid, READS, *beside, parent=70, more=(OpenFiles((OpenFile(3, inbox, "r"), OpenFile(4, outbox, "w"))),))


@pytest.mark.parametrize(("paths", "found"), [
    (("/tmp/a", "/tmp/b"), True), (("pipe:[5]", "pipe:[6]"), True), (("/tmp/a (deleted)", "/tmp/b (deleted)"), False),
])  # fmt: skip
def test_ends_of_a_fifo_meet_by_its_path(paths: tuple[str, str], found: bool) -> None:
    """A path that was removed may have been another FIFO's; whoever knows a path may write, so the circle is possible."""
    said = told(body(70, JOINS), child(71, paths=paths), child(72, paths=paths))
    circles = [one for one in said.findings if (one.rule, one.cls) == RULE]
    assert bool(circles) is found
    assert {one.certainty for one in circles} <= {Certainty.POSSIBLE if paths[0].startswith("/") else Certainty.LIKELY}


@pytest.mark.parametrize(("beside", "kind"), [
    (WAITS, Kind.CAUSE), (NAPS, Kind.NOTE), (LISTENS, Kind.NOTE), (One((MAIN, STEP), state="R", wchan=""), Kind.NOTE),
    (One((JOIN,), NAPS.call), Kind.CAUSE),
])  # fmt: skip
def test_another_thread_in_the_job_s_code_may_write(beside: One, kind: Kind) -> None:
    """One that sleeps for good in a lock of its process will not, and those of libraries do not count."""
    paths = ("pipe:[5]", "pipe:[6]")
    said = told(body(70, JOINS), child(71, beside, paths=paths), child(72, paths=paths))
    (circle,) = [one for one in said.findings if one.rule == RULE[0]]
    assert circle.kind is kind
    assert bool(circle.against) is (kind is Kind.NOTE)
    assert (said.verdict is None and said.evidence_weak) is (kind is Kind.NOTE)


def connected(pid: int, fd: int, parent: int = 70, thread: One | None = None) -> Body:
    """A process with both ends of one connection, which reads from the end of this descriptor."""
    reads = One((MAIN, STEP), BlockedCall(0, "read", (fd,)), wchan="unix_stream_read_generic")
    pair = Sockets((Socket(13, "unix", peer_inode=14), Socket(14, "unix", peer_inode=13)))
    files = OpenFiles((OpenFile(3, "socket:[13]", "rw"), OpenFile(4, "socket:[14]", "rw")))
    return body(pid, thread or reads, parent=parent, more=(pair, files))


def test_two_that_read_at_the_two_ends_of_a_pair_wait_for_each_other() -> None:
    """Their parent has kept both ends of it, and so have they."""
    whole = connected(70, 0, parent=1, thread=JOINS)
    assert causes(told(whole, connected(71, 3), connected(72, 4))) == {RULE}
    assert RULE not in causes(told(whole, connected(71, 3), connected(72, 3)))


@pytest.mark.parametrize(("beside", "found"), [((), RULE), ((WAITS,), RULE), ((NAPS,), None)])
def test_a_child_reads_from_its_parent_until_a_thread_of_that_one_brings_work(
    beside: tuple[One, ...], found: tuple[str, str] | None
) -> None:
    """The parent reads what only this child could write, and no thread of it writes."""
    parent = body(70, READS, *beside, more=(OpenFiles((OpenFile(3, "pipe:[5]", "r"), OpenFile(4, "pipe:[6]", "w"))),))
    said = told(parent, child(72, paths=("pipe:[5]", "pipe:[6]")))
    assert causes(said) == ({found} if found else set())
    assert said.verdict is not None or said.evidence_weak
