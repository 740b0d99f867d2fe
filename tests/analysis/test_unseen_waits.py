"""Who waits for whom, from wait channels, pipes and connections alone."""

from __future__ import annotations

import dataclasses

from harness.hidden import CHILD, FUTEX, NAP, POLL, READ, TCP, UNIX, WRITE, Body, Task, job, link, star, tcp
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.sockets import Socket
from rankscope.model.process import Role
from rankscope.pipeline import case_of


def waits(*bodies: Body) -> set[tuple[int, int]]:
    """Pids of waiters and of those they wait for."""
    return {(one.waiter.pid, one.target.pid) for one in case_of(job(*bodies)).graph.waits if one.target}


def root_of(*bodies: Body) -> list[int]:
    return [root.ref.pid for root in case_of(job(*bodies)).graph.roots if root.waiters]


def test_a_chain_of_readers_ends_in_the_one_that_reads_from_nobody() -> None:
    """Rank 0 reads from one of two; the one that reads from rank 0 itself is not the end."""
    sick = Body(90, (Task(FUTEX),), 2, fds=link(202), sockets=(tcp(202, 102),))
    assert root_of(*star(sick)) == [90]


def test_a_connection_in_which_data_lies_is_not_the_one_that_is_read() -> None:
    """Its sender has come; the other one has not."""
    hub, one, two = star(Body(90, (Task(NAP),), 2, fds=link(202), sockets=(tcp(202, 102),)))
    hub = dataclasses.replace(hub, sockets=(tcp(101, 201, received=8), tcp(102, 202)))
    assert waits(hub, one, two) >= {(70, 90), (80, 70)}
    assert (70, 80) not in waits(hub, one, two)


def test_who_ran_between_the_looks_waits_for_nobody() -> None:
    """A job that exchanges messages is seen in a read at any moment."""
    hub, *others = star(Body(90, (Task(TCP),), 2, fds=link(202), sockets=(tcp(202, 102),)))
    hub = dataclasses.replace(hub, tasks=(Task(TCP, woke=3),))
    assert not {pair for pair in waits(hub, *others) if pair[0] == 70}


def test_the_reader_of_a_pipe_waits_for_who_can_write_to_it() -> None:
    """Not for its own parent, from which a helper gets its work."""
    rank = Body(70, (Task(READ),), 0, fds=(("pipe:[1]", "r"), ("pipe:[2]", "w")))
    child = Body(80, (Task(READ),), role=Role.OTHER, parent=70, fds=(("pipe:[1]", "w"), ("pipe:[2]", "r")))
    assert waits(rank, child) == {(70, 80)}


def test_what_a_damaged_snapshot_says_of_a_socket_is_passed_over() -> None:
    """The rest of it counts."""
    odd = ("socket:[]", "socket:[x]", "socket:[-1]", f"socket:[{'9' * 5000}]", "socket:[0]", "socket:")
    rank = Body(70, (Task(READ),), 0, fds=(("pipe:[1]", "r"), *((one, "rw") for one in odd)))
    child = Body(80, (Task(READ),), role=Role.OTHER, parent=70, fds=(("pipe:[1]", "w"), ("socket:[x]", "rw")))
    assert waits(rank, child) == {(70, 80)}


def test_a_thread_that_writes_waits_for_the_reader_whatever_the_main_thread_does() -> None:
    """So does the feeder of a queue whose parent joins the process before it reads."""
    rank = Body(70, (Task(CHILD),), 0, fds=(("pipe:[1]", "r"),))
    child = Body(80, (Task(FUTEX), Task(WRITE)), role=Role.OTHER, parent=70, fds=(("pipe:[1]", "w"),))
    case = case_of(job(rank, child))
    assert [{ref.pid for ref in cycle} for cycle in case.graph.cycles] == [{70, 80}]


def test_an_idle_loader_worker_is_not_waited_for() -> None:
    """One that polls for its next index; the other one, in a lock, is."""
    rank = Body(70, (Task(POLL),), 0, fds=(("pipe:[1]", "r"),))
    idle = Body(80, (Task(POLL),), role=Role.DATALOADER_WORKER, parent=70, fds=(("pipe:[2]", "r"), ("pipe:[1]", "w")))
    stuck = Body(90, (Task(FUTEX),), role=Role.DATALOADER_WORKER, parent=70, fds=(("pipe:[3]", "r"), ("pipe:[1]", "w")))
    assert waits(rank, idle, stuck) == {(70, 90)}


def test_both_ends_of_its_own_socket_pair_lead_nowhere() -> None:
    """Event loops and fork servers wake themselves by one, and their children inherit it."""
    pair = (Socket(1, "unix", state="established", peer_inode=2), Socket(2, "unix", state="established", peer_inode=1))
    server = Body(70, (Task(UNIX),), role=Role.OTHER, fds=link(1, 2), sockets=pair)
    child = Body(80, (Task(NAP),), role=Role.OTHER, parent=60, fds=link(1, 2), sockets=pair)  # of whoever asked for it
    assert waits(server, child) == set()


def test_a_program_beside_the_job_is_waited_for_unless_a_member_started_it() -> None:
    """Children that were started between the looks are no strangers."""

    def asks(parent: int) -> Body:
        return Body(70, (Task(TCP),), 0, fds=link(1), sockets=(tcp(1, 2),),
                    outsiders=Outsiders((Outsider(500, "server", "S", 3, 2, parent),)))  # fmt: skip

    assert waits(asks(parent=1)) == {(70, 500)}
    assert waits(asks(parent=70)) == set()


def test_a_server_thread_of_a_rank_is_no_reason_to_wait_for_the_rank() -> None:
    """The store's thread answers, whatever the rank's main thread does."""
    serves = Body(70, (Task(FUTEX), Task("do_epoll_wait", woke=3, comm="store")), 0, fds=link(1), sockets=(tcp(1, 2),),
                  watched=((3,),))  # fmt: skip
    asks = Body(80, (Task(TCP),), 1, fds=link(2), sockets=(tcp(2, 1),))
    assert waits(serves, asks) == set()


def test_the_only_rank_with_a_terminal_may_be_reading_from_it() -> None:
    """Then its connections say nothing; where all have the terminal of their shell, that says nothing."""
    sick = Body(90, (Task(TCP),), 2, fds=(*link(202), ("/dev/pts/4", "rw")), sockets=(tcp(202, 102),))
    assert root_of(*star(sick)) == [90]
    all_have = [dataclasses.replace(one, fds=(*one.fds, ("/dev/pts/4", "rw"))) for one in star(sick)[:2]]
    assert root_of(*all_have, sick) == []


def test_one_rank_in_another_kind_of_sleep_is_waited_for_by_all_that_sleep_alike() -> None:
    """Not where the others sleep in different ways, or run; nor for an event loop, in which servers idle."""

    def ranks(odd: Task, usual: Task) -> list[Body]:
        return [*(Body(70 + 10 * rank, (usual,), rank) for rank in range(3)), Body(100, (odd,), 3)]

    assert root_of(*ranks(Task(NAP), Task(FUTEX))) == [100]
    assert root_of(*ranks(Task("do_epoll_wait"), Task(FUTEX))) == []
    assert root_of(*ranks(Task(NAP), Task(FUTEX, woke=2))) == []
    assert root_of(*ranks(Task(NAP), Task(CHILD))) == []


def test_ranks_that_nap_again_and_again_ask_for_the_one_that_sleeps_through() -> None:
    """Not where they compute in between, nor where it wakes as they do."""

    def ranks(odd: Task, usual: Task) -> list[Body]:
        return [*(Body(70 + 10 * rank, (usual,), rank) for rank in range(3)), Body(100, (odd,), 3)]

    assert root_of(*ranks(Task(FUTEX), Task(NAP, woke=5))) == [100]
    assert root_of(*ranks(Task(FUTEX), Task(NAP, woke=5, cpu_s=0.3))) == []
    assert root_of(*ranks(Task(FUTEX, woke=2), Task(NAP, woke=5))) == []


def test_gloo_threads_that_slept_before_the_main_thread_have_nothing_to_do() -> None:
    """The others handed theirs a collective with the last thing they did."""

    def rank(number: int, main_s: float, gloo_s: float) -> Body:
        gloo = Task(FUTEX, still_s=gloo_s, comm="pt_gloo_runloop")
        return Body(70 + 10 * number, (Task(FUTEX, still_s=main_s), gloo), number)

    assert root_of(rank(0, 60.0, 60.0), rank(1, 60.01, 60.002), rank(2, 58.0, 61.0)) == [90]
    assert root_of(rank(0, 60.0, 60.0), rank(1, 60.0, 60.0), rank(2, 60.0, 60.03)) == []


def test_the_rank_that_came_last_and_woke_nobody_is_in_another_call() -> None:
    """Had it joined theirs, a gloo thread of its neighbour would have run."""

    def rank(number: int, main_s: float, *gloo_s: float) -> Body:
        gloo = tuple(Task(FUTEX, still_s=age, comm="pt_gloo_runloop") for age in gloo_s)
        return Body(70 + 10 * number, (Task(FUTEX, still_s=main_s), *gloo), number)

    early = (rank(0, 60.0, 60.0, 61.0), rank(1, 60.01, 60.002, 61.0))
    assert root_of(*early, rank(2, 59.5, 59.51, 61.0)) == [90]
    assert root_of(rank(0, 60.0, 59.5, 61.0), early[1], rank(2, 59.5, 59.51, 61.0)) == []
    assert root_of(early[0], rank(2, 59.5, 59.51, 61.0)) == []
