"""A halted process is the cause where it is missed; one for which nobody waits is told, and accuses nobody."""

from __future__ import annotations

import dataclasses

import pytest
import test_live_rules as live

from rankscope.model.diagnosis import Certainty, Diagnosis, Finding, Kind
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.process import Role
from rankscope.pipeline import judge

READS = live.Body(72, live.WORKS, rank=2)
PAGER = live.Body(90, None, Role.OTHER, parent=70, state="T", wchan="do_signal_stop", comm="less")


def stopped(one: live.Body) -> live.Body:
    return dataclasses.replace(one, state="T", wchan="do_signal_stop")


def halted(found: Diagnosis) -> tuple[Finding, ...]:
    return tuple(one for one in found.findings if one.rule == "process-stopped")


def test_a_halted_pager_is_not_why_the_ranks_wait() -> None:
    """It stands below rank 0, and it is rank 2 for which all wait."""
    found = judge(live.job(*live.ranks(READS), PAGER, world=3))
    assert found.verdict is not None
    assert list(found.verdict.ranks) == [2]
    assert [(one.kind, list(one.ranks)) for one in halted(found)] == [(Kind.NOTE, [])]


def test_beside_a_halted_rank_a_halted_pager_accuses_nobody() -> None:
    (found,) = halted(judge(live.job(*live.ranks(stopped(READS)), PAGER, world=3)))
    assert (found.kind, found.certainty, list(found.ranks)) == (Kind.CAUSE, Certainty.CERTAIN, [2])


@pytest.mark.parametrize(
    ("count", "still_s", "kind", "certainty"),
    [
        (3, 99.0, Kind.CAUSE, Certainty.CERTAIN),
        (3, 1.3, Kind.CAUSE, Certainty.CERTAIN),
        (2, 1.3, Kind.NOTE, Certainty.LIKELY),
        (1, 99.0, Kind.CAUSE, Certainty.LIKELY),
    ],
)
def test_halted_ranks_are_missed_although_nobody_waits(
    count: int, still_s: float, kind: Kind, certainty: Certainty
) -> None:
    """Where all are halted nobody is left to wait; where one is, the others may not have come so far. Who paces the others
    stops them again and again, each time for a moment."""
    works = [live.Body(70 + at, live.WORKS, rank=at, state="R", still_s=0.0, cpu_s=0.9) for at in range(3)]
    halts = [dataclasses.replace(one, cpu_s=0.0, still_s=still_s) for one in works]
    bodies = [stopped(halts[at]) if at < count else one for at, one in enumerate(works)]
    (found,) = halted(judge(live.job(*bodies, world=3)))
    assert (found.kind, found.certainty, list(found.ranks)) == (kind, certainty, list(range(count)))


def test_a_halted_launcher_is_missed() -> None:
    """The ranks ask the store that it serves in native code, and no wait for it shows."""
    launcher = live.Body(60, live.WORKS, Role.LAUNCHER)
    (found,) = halted(judge(live.job(*live.ranks(READS), stopped(launcher), world=3)))
    assert (found.kind, found.certainty, list(found.ranks)) == (Kind.CAUSE, Certainty.LIKELY, [])


@pytest.mark.parametrize(("stack", "kind"), [(None, Kind.CAUSE), (live.WORKS, Kind.NOTE)])
def test_the_child_of_a_rank_that_stands_unseen_may_be_what_it_waits_for(stack: live.Stack | None, kind: Kind) -> None:
    """Without the right to look nobody knows for what the rank stands; with it, it stands in its own code."""
    ranks = [live.Body(70 + at, stack, rank=at) for at in range(3)]
    (found,) = halted(judge(live.job(*ranks, PAGER, world=3)))
    assert found.kind is kind


@pytest.mark.parametrize(("fds", "accused"), [((9,), [2]), ((3,), [1])])
def test_the_peer_of_a_librarys_own_thread_is_missed_where_it_is_halted(
    fds: tuple[int, ...], accused: list[int]
) -> None:
    """Rank 1 waits on a descriptor without a peer, and the collector of rank 2, with which it is connected, is halted; or it
    waits on another connection."""
    asks = live.BlockedCall(71, "poll", fds)
    near = (live.OpenFile(3, "socket:[31]", "rw"), live.OpenFile(4, "socket:[41]", "rw"),
            live.OpenFile(9, "anon_inode:[eventfd]", "rw"))  # fmt: skip
    mine = (Socket(31, "unix", peer_inode=32), Socket(41, "unix", peer_inode=42))
    pushes = live.Body(71, live.WORKS, rank=1, wchan="poll_schedule_timeout",
                       more=(live.Blocked((asks,)), live.OpenFiles(near), Sockets(mine)))  # fmt: skip
    theirs = (live.OpenFiles((live.OpenFile(5, "socket:[42]", "rw"),)), Sockets((Socket(42, "unix", peer_inode=41),)))
    collects = live.Body(90, None, Role.OTHER, rank=2, parent=72, state="T", wchan="do_signal_stop", more=theirs)
    found = judge(live.job(*live.ranks(pushes), collects, world=3))
    assert found.verdict is not None
    assert list(found.verdict.ranks) == accused


@pytest.mark.parametrize(("port", "told"), [("39393", True), ("4711", False)])
def test_a_halted_launcher_that_keeps_the_store_says_who_waits_for_it(port: str, told: bool) -> None:
    listens = Sockets((Socket(5, "tcp", f"[::]:{port}", "[::]:0", "listen"),))
    launcher = stopped(live.Body(60, None, Role.LAUNCHER, more=(listens,)))
    meets = live.Stack([live.MAIN, live.MEETING])
    ranks = [live.Body(70 + at, meets, rank=at, more=(Environ({"MASTER_PORT": "39393"}),)) for at in range(3)]
    (found,) = halted(judge(live.job(*ranks, launcher, world=3)))
    assert any("port 39393, by which ranks 0-2 wait to meet" in one.text for one in found.because) is told
