"""Who was told to end and does not see it, and who waits for the word of one that is gone; beside those that look alike."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.shared_locks import SharedLock, SharedLocks
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Role

JOINS = One((MAIN, Frame("Popen.poll", f"{LIB}/multiprocessing/popen_fork.py", 27)), BlockedCall(0, "wait4", child=71),
            wchan="do_wait")  # fmt: skip
NAPS = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=0.3, turns=9)
SHARED = BlockedCall(0, "futex", shared=True)
SYNCHRONIZE = f"{LIB}/multiprocessing/synchronize.py"
NOTIFIES = One((MAIN, Frame("Event.set", SYNCHRONIZE, 341), Frame("Condition.notify", SYNCHRONIZE, 297)), SHARED)
SLEPT = (MAIN, STEP, Frame("Event.wait", SYNCHRONIZE, 349), Frame("Condition.wait", SYNCHRONIZE, 275))


def told_to_end(*looks: tuple[int, ...]) -> Body:
    """A child that naps, and the signals that it keeps back at each look."""
    process, seen = body(71, NAPS, parent=70)
    kept = [
        tuple(dataclasses.replace(one, held_back=held) if isinstance(one, Threads) else one for one in look)
        for look, held in zip(seen, looks)
    ]
    return process, tuple(kept)


@pytest.mark.parametrize(("looks", "found"), [
    pytest.param(((15,), (15,)), True, id="SIGTERM waits"),
    pytest.param(((15,), ()), False, id="it has taken the signal meanwhile"),
    pytest.param(((17,), (17,)), False, id="one that does not end it"),
])  # fmt: skip
def test_a_child_that_blocks_the_signal_by_which_it_should_end(looks: tuple[tuple[int, ...], ...], found: bool) -> None:
    said = causes(told(body(70, JOINS, role=Role.LAUNCHER), told_to_end(*looks)))
    assert (("end-signal-held-back", "exit-hang") in said) is found


def test_nobody_waits_for_the_end_of_one_that_blocks_its_signal() -> None:
    found = causes(told(body(70, NAPS, role=Role.LAUNCHER), told_to_end((15,), (15,))))
    assert "end-signal-held-back" not in {rule for rule, _ in found}


def waiter(pid: int, *holders: int) -> Body:
    lock = SharedLocks((SharedLock(pid, 8, 5, holders, 3, True),))
    return body(pid, One(SLEPT, dataclasses.replace(SHARED, address=8)), parent=70, more=(lock,))


@pytest.mark.parametrize(("others", "found"), [
    pytest.param((waiter(71, 70), waiter(72, 70)), True, id="all who live have woken"),
    pytest.param((waiter(71, 70), body(72, One(SLEPT, SHARED), parent=70)), False, id="one sleeps still"),
])  # fmt: skip
def test_a_notify_that_waits_for_one_that_was_killed_in_its_sleep(others: tuple[Body, ...], found: bool) -> None:
    said = causes(told(body(70, NOTIFIES, role=Role.LAUNCHER), *others))
    assert (("shared-lock-left", "child-dead") in said) is found


def ends(*inodes: int) -> tuple[object, ...]:
    """Ends of connections from descriptor 3 on; that of an odd number has the next number at its other end."""
    files = (OpenFile(3 + at, f"socket:[{one}]", "rw") for at, one in enumerate(inodes))
    peers = (Socket(one, "unix", peer_inode=one + 1 if one % 2 else one - 1) for one in inodes)
    return (OpenFiles(tuple(files)), Sockets(tuple(peers)))


RECV = Frame("Connection._recv", f"{LIB}/multiprocessing/connection.py", 395)
AT_BARRIER = One((MAIN, STEP, Frame("Barrier.wait", f"{LIB}/threading.py", 690),
                  Frame("Condition.wait", SYNCHRONIZE, 268)), SHARED)  # fmt: skip
AWAITS_ORDER = One((MAIN, Frame("step", "/job/train.py", 9), RECV), BlockedCall(0, "read", (3,)),
                   wchan="unix_stream_read_generic")  # fmt: skip


@pytest.mark.parametrize(
    ("function", "cls"), [("step", "collective-missed-by-rank"), ("log", "rank-stuck-in-user-code")]
)
def test_a_sibling_at_the_same_work_that_skipped_the_barrier(function: str, cls: str) -> None:
    """One that began in another function is no party of it."""
    order = dataclasses.replace(AWAITS_ORDER, frames=(MAIN, Frame(function, "/job/train.py", 9), RECV))
    wants = dataclasses.replace(AWAITS_ORDER, frames=(MAIN, Frame("main", "/job/train.py", 30), RECV))
    parent = body(70, wants, role=Role.LAUNCHER, more=ends(11, 13))
    come = [body(71, AT_BARRIER, parent=70, more=ends(12)), body(72, AT_BARRIER, parent=70)]
    found = told(parent, *come, body(73, order, parent=70, more=ends(14)))
    assert causes(found) == {("nobody-left-to-wake", cls)}


@pytest.mark.parametrize(("tracer", "found"), [(90, True), (0, False)])
def test_a_tracer_that_keeps_the_main_thread_alone(tracer: int, found: bool) -> None:
    """A thread that is told as traced while nobody traces it has been let go since."""
    process, looks = body(71, One(state="t"), One(), parent=70)
    traced = [
        tuple(dataclasses.replace(one, tracer=tracer) if isinstance(one, Threads) else one for one in look)
        for look in looks
    ]
    said = causes(told(body(70, JOINS, role=Role.LAUNCHER), (process, tuple(traced))))
    assert (("process-stopped", "process-stopped") in said) is found


@pytest.mark.parametrize(("call", "found"), [
    pytest.param(BlockedCall(0, "futex"), True, id="it waits for another thread"),
    pytest.param(BlockedCall(0, "futex", timed=True), False, id="with a limit"),
])  # fmt: skip
def test_a_fork_wants_a_lock_that_a_waiting_thread_has(call: BlockedCall, found: bool) -> None:
    """``os.register_at_fork`` lets programs take locks first; that has no frame of its own."""
    forks = One(
        (MAIN, STEP, Frame("Popen._launch", f"{LIB}/multiprocessing/popen_fork.py", 66)), BlockedCall(0, "futex")
    )
    puts = One((Frame("publish", "/job/train.py", 5), Frame("Queue.put", f"{LIB}/queue.py", 140),
                Frame("Condition.wait", f"{LIB}/threading.py", 327)), call)  # fmt: skip
    said = causes(told(body(70, forks, puts, role=Role.LAUNCHER), body(71, NAPS, parent=70)))
    assert (("locks-crosswise", "lock-order-deadlock") in said) is found
