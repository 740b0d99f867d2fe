"""What the kernel alone shows of the one that others wait for; and healthy jobs that look alike from outside."""

from __future__ import annotations

import dataclasses

import pytest
import test_live_rules as live

from harness.hidden import CHILD, FUTEX, NAP, READ, TCP, Body, Task, job, link, star, tcp
from rankscope.model.diagnosis import Diagnosis, Kind
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.gap import Gap, Why
from rankscope.model.process import Role
from rankscope.pipeline import judge


def rank(*tasks: Task, **more: object) -> Body:
    """The rank for which the others wait."""
    whole: dict[str, object] = {"fds": link(202), "sockets": (tcp(202, 102),), **more}
    return Body(90, tasks, 2, **whole)  # type: ignore[arg-type]


def said(*bodies: Body, world: int | None = None) -> Diagnosis:
    return judge(job(*bodies, world=world))


def verdict(*bodies: Body) -> tuple[str, str, str] | None:
    found = said(*bodies).verdict
    return (found.cls, str(found.ranks), found.certainty.value) if found else None


@pytest.mark.parametrize(
    ("sick", "expected"),
    [
        (rank(Task(NAP)), ("rank-stuck-in-user-code", "2", "likely")),
        (rank(Task(FUTEX)), ("lock-order-deadlock", "2", "possible")),
        (rank(Task(FUTEX), Task(FUTEX)), ("lock-order-deadlock", "2", "possible")),
        (rank(Task(FUTEX), semaphores=1), ("rank-stuck-in-user-code", "2", "possible")),
        (rank(Task(FUTEX), Task(NAP)), ("rank-stuck-in-user-code", "2", "possible")),
        (rank(Task(FUTEX), Task(FUTEX, woke=135)), ("gil-deadlock", "2", "possible")),
        (rank(Task(READ), fds=(*link(202), ("pipe:[1]", "r"))), ("rank-stuck-in-user-code", "2", "possible")),
        (rank(Task(TCP), fds=(*link(202), ("/dev/pts/1", "rw"))), ("rank-stuck-in-user-code", "2", "possible")),
    ],
)
def test_the_kind_of_sleep_decides_how_much_is_said(sick: Body, expected: tuple[str, str, str]) -> None:
    """A nap is a nap; a lock may be anybody's."""
    assert verdict(*star(sick)) == expected


def test_what_is_missing_and_what_would_show_it_is_said() -> None:
    """The reader learns that other tools are refused as well."""
    found = said(*star(rank(Task(NAP))))
    cause = next(one for one in found.findings if one.kind is Kind.CAUSE)
    assert cause.against
    assert any("sudo" in str(step) for step in cause.next)
    assert any("py-spy" in str(step) for step in cause.next)


@pytest.mark.parametrize(
    "busy",
    [
        rank(Task("", woke=3, cpu_s=0.6, state="R")),
        rank(Task(FUTEX), Task("", woke=9, cpu_s=0.4, state="R")),
        rank(Task(FUTEX), Task(FUTEX, woke=135), Task("", woke=1, cpu_s=0.01, state="R")),
        rank(Task(NAP, woke=7), sent_bytes=1 << 20),
        rank(Task(NAP, woke=7)),
        rank(Task(FUTEX), Task(FUTEX, woke=20), Task(READ, woke=17)),
    ],
)
def test_who_computes_moves_data_or_only_wakes_is_not_accused(busy: Body) -> None:
    """A slow job looks like this from outside."""
    found = said(*star(busy))
    assert not [one for one in found.findings if one.kind is Kind.CAUSE]
    assert found.state.value in ("slow", "unknown", "moving")


def test_a_server_without_work_is_healthy() -> None:
    """Its parent minds it, nobody else waits; where ranks do, it is late."""
    worker = Body(95, (Task("inet_csk_accept"),), role=Role.OTHER, parent=90)
    parent = Body(90, (Task(CHILD),), role=Role.LAUNCHER)
    found = judge(job(parent, worker, launcher="plain"))
    assert (found.verdict, found.state.value) == (None, "unknown")
    assert (verdict(*star(rank(Task(CHILD))), worker) or ("", ""))[1] == "2"


@pytest.mark.parametrize("task", [Task(NAP), Task(FUTEX), Task(READ)])
def test_a_child_that_its_parent_alone_waits_for_may_do_as_it_likes(task: Task) -> None:
    """Daemons nap and wait for work; a shared semaphore may be posted by anybody."""
    child = Body(95, (task,), role=Role.OTHER, parent=90, fds=(("pipe:[1]", "r"),), semaphores=1)
    found = judge(job(Body(90, (Task(CHILD),), role=Role.LAUNCHER), child, launcher="plain"))
    assert found.verdict is None


def test_a_program_that_reads_from_another_one_may_wait_for_orders() -> None:
    """Where nobody waits for it in turn."""
    reads = Body(70, (Task(READ),), role=Role.OTHER, fds=(("pipe:[1]", "r"),),
                 outsiders=Outsiders((Outsider(500, "cat", "S", 3, 1, 1),)))  # fmt: skip
    found = judge(job(reads, launcher="none"))
    assert (found.verdict, found.state.value) == (None, "unknown")


def test_ranks_that_wake_each_other_move() -> None:
    """By a message or a lock; all of them on the clock may ask in vain."""

    def ranks(wchan: str) -> Diagnosis:
        return said(*(Body(70 + 10 * at, (Task(wchan, woke=3),), at) for at in range(3)))

    assert (ranks(TCP).verdict, ranks(TCP).evidence_weak) == (None, False)
    assert (ranks(NAP).verdict, ranks(NAP).evidence_weak) == (None, True)


def test_who_moves_data_works() -> None:
    """However little CPU that takes."""
    found = said(*star(rank(Task(NAP, woke=7), sent_bytes=1 << 20))).verdict
    assert found is not None
    assert found.cls == "straggler-slow-rank"


def test_the_rank_whose_call_woke_nobody_has_missed_that_of_the_others() -> None:
    """By the moments at which the threads of gloo ran last."""

    def one(number: int, age_s: float) -> Body:
        gloo = Task(FUTEX, still_s=age_s, comm="pt_gloo_runloop")
        return Body(70 + number, (Task(FUTEX, still_s=age_s), gloo), number)

    assert verdict(one(0, 60.0), one(10, 60.0), one(20, 55.0)) == ("collective-missed-by-rank", "20", "possible")


def test_who_computes_may_also_spin() -> None:
    """So that it is slow is possible, no more."""
    found = said(*star(rank(Task("", woke=3, cpu_s=0.6, state="R")))).verdict
    assert found is not None
    assert (found.cls, str(found.ranks), found.certainty.value) == ("straggler-slow-rank", "2", "possible")


def test_one_that_only_wakes_is_told_of_as_a_note() -> None:
    """Whether it gets on nothing decides, and that is said."""
    found = said(*star(rank(Task(NAP, woke=7))))
    assert found.evidence_weak
    assert [one.kind for one in found.findings if one.rule == "stands-unseen"] == [Kind.NOTE]


def test_nobody_is_accused_for_whom_nobody_has_waited_long() -> None:
    """Two seconds are no age."""
    young = [dataclasses.replace(one, tasks=tuple(dataclasses.replace(task, still_s=2.0) for task in one.tasks))
             for one in star(rank(Task(NAP)))]  # fmt: skip
    assert verdict(*young) is None


@pytest.mark.parametrize(
    ("state", "cls", "ranks"), [("S", "rank-stuck-in-user-code", "2"), ("T", "process-stopped", "")]
)
def test_the_one_rank_that_asks_a_program_beside_the_job(state: str, cls: str, ranks: str) -> None:
    """Where that program is stopped, it is to blame."""
    sick = rank(Task(TCP), fds=link(202, 7), sockets=(tcp(202, 102), tcp(7, 8)),
                outsiders=Outsiders((Outsider(500, "server", state, 4, 8, 1),)))  # fmt: skip
    assert (verdict(*star(sick)) or ("", ""))[:2] == (cls, ranks)


def test_a_service_that_every_rank_asks_is_not_blamed_on_one() -> None:
    """Trackers and stores have a connection from everybody."""
    bodies = [dataclasses.replace(one, fds=(*one.fds, *link(7 + at)), sockets=(*one.sockets, tcp(7 + at, 17 + at)),
                                  outsiders=Outsiders((Outsider(500, "tracker", "S", 3 + len(one.fds), 17 + at, 1),)))
              for at, one in enumerate(star(rank(Task(TCP))))]  # fmt: skip
    assert verdict(*bodies) is None


def test_a_circle_that_rests_on_one_of_several_connections_is_possible() -> None:
    """Where each has a single one, it is likely."""
    three = star(rank(Task(TCP)))
    two = [Body(70, (Task(TCP),), 0, fds=link(1), sockets=(tcp(1, 2),)),
           Body(80, (Task(TCP),), 1, fds=link(2), sockets=(tcp(2, 1),))]  # fmt: skip
    assert verdict(*three) == ("p2p-order-deadlock", "", "possible")
    assert verdict(*two) == ("p2p-order-deadlock", "", "likely")


def test_data_that_does_not_arrive_is_seen_in_the_queues() -> None:
    """Both ends sleep in a read, and what one has sent is nowhere."""
    two = [Body(70, (Task(TCP),), 0, fds=link(1), sockets=(tcp(1, 2, sent=8, resent=4),)),
           Body(80, (Task(TCP),), 1, fds=link(2), sockets=(tcp(2, 1),))]  # fmt: skip
    assert (verdict(*two) or ("",))[0] == "network-blackhole"


def test_the_last_rank_left_that_stands_still_does_not_end() -> None:
    """As long as it is connected to anybody, that may be what it waits for."""

    def alone(**more: object) -> Diagnosis:
        return judge(job(Body(60, (Task(CHILD),), role=Role.LAUNCHER), Body(70, (Task(FUTEX),), 0, **more), world=3))  # type: ignore[arg-type]

    found = alone().verdict
    assert found is not None
    assert (found.cls, str(found.ranks)) == ("exit-hang", "0")
    assert alone(fds=link(1), sockets=(tcp(1, 2),)).verdict is None


def test_a_python_child_that_may_not_be_read_is_no_foreign_command() -> None:
    """What it is called does not make it one that the job started for its result."""
    child = Body(95, (Task(FUTEX), Task(FUTEX)), role=Role.OTHER, parent=90)
    found = said(*star(rank(Task(CHILD))), child)
    assert "command-runs-on" not in {one.rule for one in found.findings}
    tool = dataclasses.replace(child, executable="/usr/bin/rsync", tasks=(Task(FUTEX),))
    assert "command-runs-on" in {one.rule for one in said(*star(rank(Task(CHILD))), tool).findings}


@pytest.mark.parametrize(
    ("device", "weak"),
    [
        ((), False),
        ((("/dev/null", "rw"),), False),
        ((("/dev/nvidia0", "rw"),), True),
        ((("/dev/infiniband/uverbs0", "rw"),), True),
        ((("/dev/accel/accel0", "rw"),), True),
    ],
)
def test_a_job_that_is_seen_to_work_is_clean_unless_its_ranks_may_spin(
    device: tuple[tuple[str, str], ...], weak: bool
) -> None:
    """Who waits for a device burns CPU as who computes does."""
    ranks = [Body(70 + 10 * at, (Task("", woke=9, cpu_s=0.3, state="R"),), at, fds=device) for at in range(3)]
    found = said(*ranks)
    assert (found.state.value, found.verdict, found.evidence_weak) == ("moving", None, weak)


def test_a_stack_of_unknown_layout_is_one_for_another_reader() -> None:
    """Nothing was refused, and a rank in the same call sleeps in a lock as well: nothing is said of rights or of lock orders."""
    seen = live.job(*live.ranks(live.Body(72, None, rank=2)))
    ref = next(one.ref for one in seen.processes if one.rank == 2)
    gap = Gap("python-stacks", Why.UNKNOWN_LAYOUT, "its frames cannot be followed", process=ref)
    found = judge(dataclasses.replace(seen, gaps=(gap,)))
    cause = next(one for one in found.findings if one.rule == "stands-unseen")
    assert (cause.cls, cause.certainty.value) == ("rank-stuck-in-user-code", "possible")
    assert "in the same call as its peers" in cause.title
    assert "its frames cannot be followed" in cause.against[0]
    assert [str(step).split("   #")[0] for step in cause.next] == [
        "rankscope stacks pid:72 --engine py-spy", "rankscope stacks pid:72 --native"
    ]  # fmt: skip
