"""What the children of a process, dead or alive, say of it where its stack may not be read."""

from __future__ import annotations

import pytest

from harness.hidden import CHILD, FUTEX, NAP, READ, TCP, Body, Task, job, link, star, tcp
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Role
from rankscope.pipeline import case_of, judge


def rank(*tasks: Task, **more: object) -> Body:
    """The rank for which the others wait."""
    whole: dict[str, object] = {"fds": link(202), "sockets": (tcp(202, 102),), **more}
    return Body(90, tasks, 2, **whole)  # type: ignore[arg-type]


def verdict(*bodies: Body) -> tuple[str, str, str] | None:
    found = judge(job(*bodies)).verdict
    return (found.cls, str(found.ranks), found.certainty.value) if found else None


def test_siblings_that_share_a_lock_with_the_dead_one_name_it() -> None:
    """Nothing numbers them; the process is told all the same."""
    parent = Body(60, (Task(CHILD),), role=Role.LAUNCHER)
    living = (Body(pid, (Task(FUTEX),), role=Role.OTHER, parent=60, semaphores=2) for pid in (70, 80))
    dead = Body(75, (), role=Role.OTHER, parent=60, more=(Threads((KernelThread(75, "python", "Z"),), exit_status=9),))
    first = judge(job(parent, *living, dead, launcher="plain")).findings[0]
    assert first.cls == "child-dead"
    assert 75 in {process.ref.pid for process in first.processes}


def test_who_naps_again_and_again_beside_a_dead_child_asks_in_vain() -> None:
    """Without it, nothing can be said."""
    dead = Body(95, (), role=Role.OTHER, parent=90, more=(Threads((KernelThread(95, "python", "Z"),), exit_status=9),))
    assert (verdict(*star(rank(Task(NAP, woke=7))), dead) or ("",))[0] == "child-dead"


@pytest.mark.parametrize(
    ("state", "cls"), [("D", "filesystem-stall"), ("T", "process-stopped"), ("S", "lock-order-deadlock")]
)
def test_what_holds_a_child_is_what_holds_its_parent_in_a_lock(state: str, cls: str) -> None:
    """A pool's parent sleeps in a lock until a result comes."""
    child = Body(95, (Task("folio_wait_bit_common", state=state),), role=Role.OTHER, parent=90)
    bodies = [*star(rank(Task(FUTEX), Task(FUTEX))), child]
    assert (verdict(*bodies) or ("",))[0] == cls
    waits = {(one.waiter.pid, one.target.pid) for one in case_of(job(*bodies)).graph.waits if one.target}
    assert ((90, 95) in waits) is (state != "S")


def test_a_copy_of_its_parent_in_a_lock_is_a_fork_with_threads() -> None:
    """A program of its own in the same state is not, and neither is the copy of a parent without threads."""

    def family(threads: int, command: tuple[str, ...] = ("python", "train.py")) -> list[Body]:
        parent = rank(Task(CHILD), *(Task(NAP) for _ in range(threads - 1)))
        child = Body(95, (Task(FUTEX),), role=Role.OTHER, parent=90, command=command)
        return [*star(parent), child]

    assert (verdict(*family(3)) or ("",))[0] == "fork-with-threads"
    assert (verdict(*family(1)) or ("",))[0] == "lock-order-deadlock"
    assert (verdict(*family(3, ("python", "other.py"))) or ("",))[0] == "lock-order-deadlock"


def test_a_parent_that_joins_a_writer_is_a_full_pipe() -> None:
    """The writer is a thread of the child, its main thread waits for that."""
    parent = rank(Task(CHILD), fds=(*link(202), ("pipe:[1]", "r")))
    child = Body(95, (Task(FUTEX), Task("anon_pipe_write")), role=Role.OTHER, parent=90, fds=(("pipe:[1]", "w"),))
    assert verdict(*star(parent), child) == ("queue-pipe-full", "2", "likely")


@pytest.mark.parametrize(("left", "cls"), [(True, "child-dead"), (False, "rank-stuck-in-user-code")])
def test_a_pipe_that_only_its_reader_can_write_to_and_what_a_child_left_behind(left: bool, cls: str) -> None:
    """The second pipe has no writer any more: multiprocessing keeps one end of it for each child."""
    pipes = (("pipe:[1]", "r"), ("pipe:[1]", "w"), ("pipe:[2]", "r"))[: 3 if left else 2]
    assert (verdict(*star(rank(Task(READ), fds=(*link(202), *pipes)))) or ("",))[0] == cls


@pytest.mark.parametrize(("status", "cls"), [(9, "child-dead"), (0, "rank-stuck-in-user-code")])
def test_a_shared_lock_may_have_died_with_who_was_killed(status: int, cls: str) -> None:
    """A child that ended well has given its locks back."""
    body = Body(
        95, (), role=Role.OTHER, parent=90, more=(Threads((KernelThread(95, "python", "Z"),), exit_status=status),)
    )
    assert (verdict(*star(rank(Task(FUTEX), semaphores=2)), body) or ("",))[0] == cls


def test_who_asks_a_server_of_its_own_after_a_child_was_killed() -> None:
    """The server only ticks: that its client stands still since then has another reason."""
    sick = rank(Task(TCP), fds=link(202, 7), sockets=(tcp(202, 102), tcp(7, 8)))
    server = Body(95, (Task(FUTEX, woke=1), Task(FUTEX)), role=Role.OTHER, parent=90, fds=link(8), sockets=(tcp(8, 7),))
    killed = Body(
        97, (), role=Role.OTHER, parent=90, more=(Threads((KernelThread(97, "python", "Z"),), exit_status=9),)
    )
    assert (verdict(*star(sick), server, killed) or ("", ""))[:2] == ("child-dead", "2")
    assert verdict(*star(sick), server) is None


@pytest.mark.parametrize(("age_s", "cls"), [(99.0, "filesystem-stall"), (3.0, "rank-stuck-in-user-code")])
def test_a_thread_that_a_file_system_holds_is_what_its_main_thread_waits_for(age_s: float, cls: str) -> None:
    """Where it has stood there for long."""
    writes = Task("percpu_rwsem_wait", state="D", still_s=age_s)
    assert (verdict(*star(rank(Task(FUTEX), writes))) or ("",))[0] == cls
