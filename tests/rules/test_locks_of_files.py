"""File locks of processes that are no ranks: a circle of them, and a leader with those who stand by."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import MAIN, STEP, Body, One, body, causes, told

from rankscope.model.diagnosis import Certainty, Kind
from rankscope.model.evidence.blocked import Blocked, BlockedCall, HeldLock

NAPS = One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep")
QUEUES = One((MAIN, STEP), BlockedCall(0, "flock", (3,)), wchan="flock_lock_inode_wait")
JOINS = One((MAIN,), BlockedCall(0, "wait4", child=71), wchan="do_wait")


def wants(pid: int, holder: int, one: One, asked: bool, path: str = "/run/job.lock") -> Body:
    """A process that wants a lock of another one, in the kernel or by asking again and again."""
    process, looks = body(pid, one, parent=70)
    lock = HeldLock(pid, "POSIX" if asked else "FLOCK", path, (holder,), "python", asked)
    return process, tuple(
        tuple(Blocked(record.calls, (lock,)) if isinstance(record, Blocked) else record for record in look)
        for look in looks
    )


def asks(pid: int, holder: int, path: str) -> Body:
    naps = One(NAPS.frames, NAPS.call, wchan=NAPS.wchan, still_s=0.1, turns=9)
    return wants(pid, holder, naps, True, path)


def test_two_writers_of_two_databases_that_ask_crosswise_are_a_circle() -> None:
    """SQLite never waits in the kernel: it naps and asks again."""
    found = told(body(70, JOINS), asks(71, 72, "/data/a.db"), asks(72, 71, "/data/b.db"))
    assert ("wait-cycle", "lock-order-deadlock") in causes(found)


def test_a_writer_that_waits_for_one_that_works_is_no_circle() -> None:
    works = One((MAIN, STEP), None, state="R", wchan="", still_s=0.0, turns=9)
    found = told(body(70, JOINS), body(71, works, parent=70), asks(72, 71, "/data/b.db"))
    assert causes(found) == set()
    assert not [one for one in found.findings if one.rule == "straggler"]  # nor is a leader behind those who stand by


@pytest.mark.parametrize(("asked", "sure"), [(False, Certainty.POSSIBLE), (True, Certainty.CERTAIN)])
def test_a_leader_sleeps_with_its_lock_and_others_stand_by(asked: bool, sure: Certainty) -> None:
    """That is how it is meant, perhaps; who naps in a transaction of a database keeps the others from their work."""
    waits = [asks(pid, 71, "/data/a.db") if asked else wants(pid, 71, QUEUES, False) for pid in (72, 73)]
    found = told(body(70, JOINS), body(71, NAPS, parent=70), *waits)
    (cause,) = [one for one in found.findings if one.kind is Kind.CAUSE]
    assert (cause.processes[0].ref.pid, cause.certainty, bool(cause.against)) == (71, sure, not asked)


WORKS = One((MAIN, STEP), None, state="R", wchan="", still_s=0.0, turns=9)


@pytest.mark.parametrize(("heir", "found"), [(NAPS, True), (WORKS, False)], ids=["naps", "works"])
def test_a_lock_that_a_helper_has_by_an_open_file_of_another_process(heir: One, found: bool) -> None:
    """Whoever took it has closed the file; one that works may have been given the lock on purpose."""
    process, looks = wants(72, 71, QUEUES, False)
    left = tuple(
        tuple(
            dataclasses.replace(one, locks=tuple(dataclasses.replace(lock, inherited=True) for lock in one.locks))
            if isinstance(one, Blocked)
            else one
            for one in look
        )
        for look in looks
    )
    said = causes(told(body(70, JOINS), body(71, heir, parent=70), (process, left)))
    assert (("file-lock-held", "file-lock-stale") in said) is found
