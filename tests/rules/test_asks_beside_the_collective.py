"""Who asks a peer over a connection, which stands elsewhere meanwhile: in a collective, or behind a lock of its own."""

from __future__ import annotations

import pytest
from test_one_machine import DIST, LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.diagnosis import Certainty, Diagnosis
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame
from rankscope.model.process import Role

REDUCES = One((MAIN, STEP, Frame("all_reduce", DIST, 2806)), BlockedCall(0, "futex"))
ASKS = One(
    (MAIN, STEP, Frame("SocketIO.readinto", f"{LIB}/socket.py", 706)),
    BlockedCall(0, "recvfrom", (3,)),
    wchan="wait_woken",
)
ACCEPTS = One((MAIN, Frame("serve", "/job/train.py", 7), Frame("socket.accept", f"{LIB}/socket.py", 294)),
              BlockedCall(0, "accept4", (5,)), wchan="inet_csk_accept")  # fmt: skip


def end(mine: int, peers: int) -> tuple[object, ...]:
    return (OpenFiles((OpenFile(3, f"socket:[{mine}]", "rw"),)), Sockets((Socket(mine, "unix", peer_inode=peers),)))


def rank(number: int, *threads: One, more: tuple[object, ...] = ()) -> Body:
    return body(70 + number, *threads, role=Role.RANK, rank=number, more=more)


def cycle(found: Diagnosis) -> set[tuple[str, tuple[int, ...], Certainty]]:
    return {(one.cls, tuple(one.ranks), one.certainty) for one in found.findings if one.rule == "wait-cycle"}


def test_a_rank_asks_one_that_waits_for_it_in_a_collective() -> None:
    found = told(
        rank(0, REDUCES, more=end(13, 14)),
        rank(1, ASKS, more=end(14, 13)),
        rank(2, REDUCES),
        world=3,
        launcher="environment",
    )
    assert cycle(found) == {("rank-stuck-in-user-code", (1,), Certainty.LIKELY)}


def test_a_thread_of_the_one_that_is_asked_may_answer() -> None:
    found = told(rank(0, REDUCES, ACCEPTS, more=end(13, 14)), rank(1, ASKS, more=end(14, 13)), rank(2, REDUCES), world=3,
                 launcher="environment")  # fmt: skip
    assert cycle(found) == {("rank-stuck-in-user-code", (1,), Certainty.POSSIBLE)}


SERVES = Frame("Server.serve_client", f"{LIB}/multiprocessing/managers.py", 273)
CACHE = Frame("Cache.get", "/job/train.py", 8)
RECV = Frame("Connection._recv", f"{LIB}/multiprocessing/connection.py", 395)
NAPS = One((Frame("Server.serve_forever", f"{LIB}/multiprocessing/managers.py", 178),), BlockedCall(0, "futex", timed=True),
           still_s=0.4, turns=1)  # fmt: skip
CALLS = One((SERVES, CACHE, RECV), BlockedCall(0, "read", (3,)), wchan="unix_stream_read_generic")
WANTS = One((SERVES, CACHE), BlockedCall(0, "futex", library="python3.11"))
COMPUTES = One((SERVES, CACHE), state="R", wchan="", still_s=0.0, turns=9)
SLEEPS = One((SERVES, CACHE), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep")


@pytest.mark.parametrize(
    ("beside", "found"),
    [(WANTS, {"lock-order-deadlock"}), (COMPUTES, set()), (SLEEPS, set())],
    ids=["wants", "computes", "sleeps"],
)
def test_managers_ask_each_other_and_the_second_question_comes_back(beside: One, found: set[str]) -> None:
    """Where the last one asked computes or sleeps, its answer is on the way."""
    line = {one: Socket(one, "unix", peer_inode=one + 1 if one % 2 else one - 1) for one in range(11, 17)}

    def ends(asked_over: int, *others: int) -> tuple[object, ...]:
        files = (OpenFile(3 + at, f"socket:[{one}]", "rw") for at, one in enumerate((asked_over, *others)))
        return (OpenFiles(tuple(files)), Sockets(tuple(line[one] for one in (asked_over, *others))))

    asker = body(
        70, One((MAIN, STEP, RECV), BlockedCall(0, "read", (3,)), wchan="unix_stream_read_generic"), more=ends(11)
    )
    first = body(71, NAPS, CALLS, beside, parent=70, more=ends(13, 12, 16))
    second = body(72, NAPS, CALLS, parent=70, more=ends(15, 14))
    assert {cls for rule, cls in causes(told(asker, first, second)) if rule == "wait-cycle"} == found
