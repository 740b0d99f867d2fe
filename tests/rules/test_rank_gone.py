"""A rank that is gone is to blame where it ended badly, or where others wait for it; one that has done its part is not."""

from __future__ import annotations

import dataclasses

import pytest
from test_live_rules import LIB, MAIN, REDUCES, WORKS, Body, job, ranks, said

from rankscope.model.diagnosis import Certainty
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, Local, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.gap import Gap, Why
from rankscope.model.process import ProcessRef, Role
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import case_of, judge

JOINS = Stack([Frame("<module>", "/job/train.py", 50), MAIN, Frame("join", f"{LIB}/multiprocessing/process.py", 149)])
BARRIER = Stack([MAIN, Frame("wait", f"{LIB}/multiprocessing/synchronize.py", 265)])
KILLED, RAISED = 9, 256


def zombie(pid: int, rank: int, status: int = 0) -> Body:
    end = Threads((KernelThread(pid, "python", "Z"),), exit_status=status)
    return Body(pid, None, rank=rank, parent=60, state="Z", more=(end,))


def evaluates(*dead: Body, busy: bool = True) -> Snapshot:
    """The parent joins rank 0 first, which evaluates while its siblings have ended."""
    doing = {"cpu_s": 0.9, "state": "R"} if busy else {"wchan": "hrtimer_nanosleep"}
    last = Body(70, WORKS, rank=0, parent=60, **doing)
    return job(Body(60, JOINS, Role.LAUNCHER), last, *dead)


def without(snapshot: Snapshot, *pids: int) -> Snapshot:
    """Processes are gone at the last look."""
    *before, last = snapshot.sweeps
    left = tuple(ref for ref in last.present if ref.pid not in pids)
    items = tuple(item for item in last.items if item.process is None or item.process in left)
    return dataclasses.replace(snapshot, sweeps=(*before, dataclasses.replace(last, present=left, items=items)))


def test_ranks_that_ended_well_while_another_still_works_are_no_cause() -> None:
    assert judge(evaluates(zombie(71, 1), zombie(72, 2), zombie(73, 3))).verdict is None


@pytest.mark.parametrize("status", [KILLED, RAISED])
def test_of_dead_ranks_those_that_ended_badly_are_named(status: int) -> None:
    found = said(evaluates(zombie(71, 1), zombie(72, 2, status), zombie(73, 3)), "rank-gone")
    assert found is not None
    assert list(found.ranks) == [2]
    assert [process.ref.pid for process in found.processes] == [72]


def test_a_rank_that_ended_well_although_the_others_wait_for_it_is_a_cause() -> None:
    """It had fewer batches, or left the loop early."""
    found = said(job(*ranks(zombie(72, 2))), "rank-gone")
    assert found is not None
    assert (list(found.ranks), found.certainty) == ([2], Certainty.CERTAIN)


def waits_for_another(*dead: Body) -> Snapshot:
    """Rank 0 waits in a call of the group of ranks 0 and 2, while rank 3 of the other group works."""
    known = (Local(2, "group ranks", "A: 0,2", "ranks"),)
    return job(Body(70, rank=0, parent=60, locals=(known, known)), Body(73, WORKS, rank=3, parent=60, cpu_s=0.9, state="R"),
               *dead)  # fmt: skip


@pytest.mark.parametrize(
    ("dead", "named", "pids"),
    [
        pytest.param([zombie(71, 1), zombie(72, 2)], [2], [72], id="one that has done its part"),
        pytest.param([zombie(71, 1), zombie(72, 2, KILLED)], [2], [72], id="beside one that was killed"),
        pytest.param([zombie(71, 1, KILLED), zombie(72, 2)], [1, 2], [71, 72], id="one that failed without a waiter"),
        pytest.param([zombie(72, 2), Body(90, None, Role.OTHER, parent=70, state="Z")], [2], [72], id="a command that ended"),
    ],
)  # fmt: skip
def test_each_of_the_dead_is_judged_by_those_who_wait_for_it(
    dead: list[Body], named: list[int], pids: list[int]
) -> None:
    found = said(waits_for_another(*dead), "rank-gone")
    assert found is not None
    assert (list(found.ranks), [process.ref.pid for process in found.processes]) == (named, pids)


def test_the_dead_are_not_among_those_that_are_alive() -> None:
    """Rank 2 has vanished; rank 1 has done its part and is a zombie."""
    promised = waits_for_another(zombie(71, 1))
    promised = dataclasses.replace(promised, job=dataclasses.replace(promised.job, expected="0-3"))
    found = said(promised, "rank-gone")
    assert found is not None
    assert "ranks 0,3 are alive" in " ".join(reason.text for reason in found.because)


def test_bodies_without_a_number_beside_the_ranks_may_be_those_that_are_missed() -> None:
    """A zombie has no environment any more."""
    dead = [Body(pid, None, Role.OTHER, parent=60, state="Z") for pid in (72, 73)]
    snapshot = job(*(Body(70 + rank, rank=rank, parent=60) for rank in (0, 1)), *dead)
    promised = dataclasses.replace(snapshot, job=dataclasses.replace(snapshot.job, expected="0-3"))
    found = said(promised, "rank-gone")
    assert found is not None
    assert (list(found.ranks), [process.ref.pid for process in found.processes]) == ([2, 3], [72, 73])


@pytest.mark.parametrize(("still_s", "told"), [(0.2, False), (99.0, True)])
def test_a_rank_that_leaves_between_the_looks_is_a_cause_once_the_others_have_waited(
    still_s: float, told: bool
) -> None:
    """At the end of a job, one goes before the others."""
    leaving = job(*ranks(Body(72, REDUCES, rank=2), still_s=still_s))
    assert (said(without(leaving, 72), "rank-gone") is not None) is told


def test_where_nobody_alive_gets_on_and_nobody_is_seen_to_wait_it_is_possible() -> None:
    """What ranks wait for in a barrier of multiprocessing is written nowhere."""
    found = said(job(*ranks(zombie(72, 2), stack=BARRIER)), "rank-gone")
    assert found is not None
    assert found.certainty is Certainty.POSSIBLE
    assert found.against
    assert said(evaluates(zombie(71, 1), busy=False), "rank-gone") is None


@pytest.mark.parametrize("newest_last", [True, False])
def test_the_dead_forerunner_of_a_living_rank_is_no_cause(newest_last: bool) -> None:
    """Of a job that began anew, the last attempt's processes may not have been reaped."""
    new, old = Body(82, REDUCES, rank=2, still_s=0.2), zombie(72, 2, KILLED)
    assert judge(job(*ranks(still_s=0.2, world=2), *((old, new) if newest_last else (new, old)))).verdict is None


def test_the_process_of_a_rank_is_its_living_one() -> None:
    case = case_of(job(*ranks(world=2), Body(82, REDUCES, rank=2), zombie(72, 2)))
    assert case.by_rank[2].ref == ProcessRef("n1", 82, 1)


def lacking(*more: Body, expected: str = "0-2", gaps: tuple[Gap, ...] = ()) -> Snapshot:
    """Ranks 0 and 1 wait, and those behind them are not among the processes that said who they are."""
    snapshot = job(*(Body(70 + rank, rank=rank, parent=60) for rank in (0, 1)), *more)
    hidden = tuple(
        dataclasses.replace(one, command=(), executable="/usr/bin/python3.11") if one.role is Role.OTHER else one
        for one in snapshot.processes
    )
    promised = dataclasses.replace(snapshot.job, expected=expected)
    return dataclasses.replace(snapshot, processes=hidden, job=promised, gaps=gaps)


def connected(elsewhere: int = 0) -> Snapshot:
    """Of a world of three, two ranks are here, connected to each other and one of them to somebody else."""

    def ends(rank: int) -> Sockets:
        met = Socket(10 + rank, "tcp", "127.0.0.1:9", "127.0.0.1:8", "established", peer_inode=11 - rank)
        other = Socket(20, "tcp", "127.0.0.1:7", "127.0.0.1:6", "established", peer_inode=elsewhere)
        return Sockets((met, other) if elsewhere and rank == 0 else (met,))

    alone = job(*(Body(70 + rank, rank=rank, parent=60, more=(ends(rank),)) for rank in (0, 1)))
    worlds = tuple(dataclasses.replace(one, world_size=3) for one in alone.processes)
    unpromised = dataclasses.replace(alone.job, expected="", world_size=None)
    return dataclasses.replace(alone, processes=worlds, job=unpromised)


def test_where_a_job_stays_on_its_host_the_size_of_the_world_is_a_promise() -> None:
    """A script that starts its ranks itself promises nothing to those who look."""
    found = said(connected(), "rank-gone")
    assert found is not None
    assert list(found.ranks) == [2]
    assert "connected to nobody outside of this host" in found.because[0].text
    assert said(connected(elsewhere=99), "rank-gone") is None


def mute(pid: int, parent: int = 60) -> Body:
    return Body(pid, None, Role.OTHER, parent=parent, state="D", wchan="folio_wait_bit")


def test_a_rank_that_no_process_has_is_gone() -> None:
    found = said(lacking(), "rank-gone")
    assert found is not None
    assert found.certainty is Certainty.CERTAIN


def test_a_sibling_that_did_not_answer_is_the_rank_that_is_missing() -> None:
    """It holds the lock of its own memory; the others wait for it, and it lives."""
    snapshot = lacking(mute(72))
    assert case_of(snapshot).by_rank[2].ref.pid == 72
    assert said(snapshot, "rank-gone") is None
    verdict = judge(snapshot).verdict
    assert verdict is not None
    assert list(verdict.ranks) == [2]
    assert verdict.certainty is not Certainty.CERTAIN
    assert "the number of rank 2 could not be read" in " ".join(judge(snapshot).findings[0].against)


def test_siblings_that_did_not_answer_are_numbered_as_they_were_started() -> None:
    by_rank = case_of(lacking(mute(73), mute(72), expected="0-3")).by_rank
    assert {rank: member.ref.pid for rank, member in by_rank.items()} == {0: 70, 1: 71, 2: 72, 3: 73}


@pytest.mark.parametrize(
    "mutes",
    [pytest.param([mute(72)], id="fewer than are missed"), pytest.param([mute(69), mute(72)], id="out of order")],
)
def test_where_nobody_can_tell_which_rank_did_not_answer_none_is_surely_gone(mutes: list[Body]) -> None:
    found = said(lacking(*mutes, expected="0-3"), "rank-gone")
    assert found is not None
    assert (list(found.ranks), found.certainty) == ([2, 3], Certainty.POSSIBLE)
    assert "or among the processes that did not answer" in found.title
    assert "pid" in " ".join(found.against)


def test_a_stranger_that_did_not_answer_may_be_the_rank() -> None:
    """Nobody knows whose process that is."""
    gap = Gap("process", Why.BLOCKED, process=ProcessRef("n1", 90))
    found = said(lacking(gaps=(gap,)), "rank-gone")
    assert found is not None
    assert found.certainty is Certainty.LIKELY
    assert "(pid 90)" in found.against[0]
    dead = said(lacking(zombie(72, 2), gaps=(gap,)), "rank-gone")
    assert dead is not None
    assert dead.certainty is Certainty.CERTAIN
