"""Pipes between a rank and the processes that it started: who waits for whom, and who is left to answer."""

from __future__ import annotations

import dataclasses

import pytest
from test_one_machine import JOIN, LIB, MAIN, STEP, One, body, causes, told

from rankscope.model.diagnosis import State
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.stacks import Frame
from rankscope.model.process import Role

PUT = Frame("SimpleQueue.put", f"{LIB}/multiprocessing/queues.py", 374)
SEND = Frame("Connection._send", f"{LIB}/multiprocessing/connection.py", 373)
GET = Frame("SimpleQueue.get", f"{LIB}/multiprocessing/queues.py", 365)
REGISTER = Frame("ResourceTracker._send", f"{LIB}/multiprocessing/resource_tracker.py", 202)


def ends(*modes: str) -> OpenFiles:
    """Ends of one pipe that a process has open, from descriptor 3 on."""
    return OpenFiles(tuple(OpenFile(3 + at, "pipe:[5]", mode) for at, mode in enumerate(modes)))


@pytest.mark.parametrize(
    ("inner", "call", "cls"), [((PUT, SEND), "write", {"queue-pipe-full"}), ((GET,), "read", set())]
)
def test_a_child_that_fills_the_queue_of_a_parent_that_joins_it(
    inner: tuple[Frame, ...], call: str, cls: set[str]
) -> None:
    """One that reads waits for work of its parent."""
    fd = 4 if call == "write" else 3
    child = body(71, One((MAIN, STEP, *inner), BlockedCall(0, call, (fd,)), wchan=f"pipe_{call}"), parent=70,
                 more=(ends("r", "w"),))  # fmt: skip
    parent = body(70, One((MAIN, JOIN), BlockedCall(0, "wait4"), wchan="do_wait"), rank=0, role=Role.RANK,
                  more=(ends("r", "w"),))  # fmt: skip
    assert {one for rule, one in causes(told(parent, child)) if rule == "wait-cycle"} == cls


@pytest.mark.parametrize(("state", "rules"), [("T", {"process-stopped"}), ("S", {"rank-in-user-code"})])
def test_a_helper_of_the_library_is_blamed_where_it_is_stopped(state: str, rules: set[str]) -> None:
    """multiprocessing tells its resource tracker of each block of shared memory, over a pipe."""
    helper = body(71, One((), state=state, wchan="do_signal_stop" if state == "T" else "pipe_read"), role=Role.HELPER,
                  parent=70, rank=0, more=(ends("r"),))  # fmt: skip
    writes = One((MAIN, STEP, REGISTER), BlockedCall(0, "write", (3,)), wchan="pipe_write")
    rank = body(70, writes, rank=0, role=Role.RANK, more=(ends("w"),))
    found = told(rank, helper, launcher="none")
    assert {rule for rule, _ in causes(found)} == rules
    assert found.verdict is not None
    assert list(found.verdict.ranks) == [0]


@pytest.mark.parametrize(("state", "rules"), [("T", {"process-stopped"}), ("S", {"rank-in-user-code"})])
def test_a_stopped_fork_server_starts_nobody(state: str, rules: set[str]) -> None:
    """The pipe on which its answer should come lies in its queue of messages: nobody has the other end open."""
    launch = Frame("Popen._launch", f"{LIB}/multiprocessing/popen_forkserver.py", 59)
    starts = One((MAIN, STEP, launch), BlockedCall(0, "read", (3,)), wchan="pipe_read")
    process, looks = body(71, One((), state=state, wchan="ep_poll"), role=Role.HELPER, parent=70, rank=0)
    server = dataclasses.replace(
        process, command=("python", "-c", "from multiprocessing.forkserver import main; main(5)")
    )
    found = told(body(70, starts, rank=0, role=Role.RANK, more=(ends("r"),)), (server, looks), launcher="none")
    assert {rule for rule, _ in causes(found)} == rules


@pytest.mark.parametrize("count", [1, 2])
def test_every_dead_child_is_named(count: int) -> None:
    """A token that comes back over a pipe is lost with each of them."""
    waits = One((MAIN, STEP), BlockedCall(0, "read", (3,)), wchan="pipe_read")
    rank = body(70, waits, rank=0, role=Role.RANK, more=(ends("r", "w"),))
    dead = [body(71 + at, One((), state="Z", wchan=""), parent=70, exit_status=11) for at in range(count)]
    found = told(rank, *dead, body(79, parent=70), launcher="none")
    (cause,) = [one for one in found.findings if one.rule == "pool-lost-a-worker"]
    assert [one.ref.pid for one in cause.processes] == [70, *range(71, 71 + count)]


@pytest.mark.parametrize(
    ("calls", "beside", "cls"),
    [
        (("openat", "openat"), False, {"p2p-order-deadlock"}),
        (("openat", "openat"), True, set()),
        (("openat", "write"), False, set()),
    ],
)
def test_ranks_that_each_open_a_fifo_for_which_the_other_should_come(
    calls: tuple[str, ...], beside: bool, cls: set[str]
) -> None:
    """Another process of the job may be the one that comes; and one that does something else is no circle."""
    places = {"openat": "wait_for_partner", "write": "pipe_write"}
    ranks = [
        body(70 + at, One((MAIN, STEP), BlockedCall(0, call), wchan=places[call]), rank=at, role=Role.RANK)
        for at, call in enumerate(calls)
    ]
    found = told(*ranks, *([body(79, One((MAIN, STEP), wchan="hrtimer_nanosleep"), parent=70)] if beside else []),
                 launcher="environment")  # fmt: skip
    assert {one for rule, one in causes(found) if rule == "wait-cycle"} == cls


QUEUE_GET = Frame("Queue.get", f"{LIB}/multiprocessing/queues.py", 103)
RECV = Frame("Connection._recv", f"{LIB}/multiprocessing/connection.py", 395)
ENTERS_LOCK = Frame("SemLock.__enter__", f"{LIB}/multiprocessing/synchronize.py", 95)
SELECT = Frame("EpollSelector.select", f"{LIB}/selectors.py", 468)
LOOP = Frame("BaseEventLoop.run_forever", f"{LIB}/asyncio/base_events.py", 607)
IN_LOOP = One((MAIN, LOOP, SELECT), BlockedCall(0, "epoll_wait"), wchan="ep_poll")
JOINS = One((MAIN, JOIN), BlockedCall(0, "wait4"), wchan="do_wait")
TAKES = One((MAIN, STEP, QUEUE_GET, RECV), BlockedCall(0, "read", (3,)), wchan="pipe_read")
AWAITS_TURN = One((MAIN, STEP, QUEUE_GET, ENTERS_LOCK), BlockedCall(0, "futex"))
COMPUTES = One((MAIN, Frame("other", "/job/train.py", 31), QUEUE_GET, ENTERS_LOCK), BlockedCall(0, "futex"))


@pytest.mark.parametrize(
    ("parent", "other", "awaited"),
    [(IN_LOOP, AWAITS_TURN, False), (JOINS, AWAITS_TURN, False), (JOINS, COMPUTES, True)],
)
def test_who_takes_from_the_same_queue_is_not_the_one_who_fills_it(parent: One, other: One, awaited: bool) -> None:
    """One child reads the pipe and holds the lock for reading, the other waits for that lock; both inherited both ends. One that
    takes from another queue may be the writer of this one."""
    top = body(70, parent, more=(ends("r", "w"),))
    children = [body(71 + at, one, parent=70, more=(ends("r", "w"),)) for at, one in enumerate((TAKES, other))]
    found = told(top, *children)
    assert any(wait.waiter.pid == 71 and wait.target and wait.target.pid == 72 for wait in found.waits) == awaited


@pytest.mark.parametrize(("parent", "state"), [(IN_LOOP, State.UNKNOWN), (JOINS, State.STUCK)])
def test_workers_with_a_queue_each_wait_for_the_service_that_has_no_request(parent: One, state: State) -> None:
    """Where their parent waits for their end instead, they may well be a ring in which each should feed the next."""
    every = OpenFiles(tuple(OpenFile(3 + at, f"pipe:[{5 + at // 2}]", "rw"[at % 2]) for at in range(4)))
    second = dataclasses.replace(TAKES, call=BlockedCall(0, "read", (5,)))
    top = body(70, parent, more=(every,))
    found = told(top, *(body(71 + at, one, parent=70, more=(every,)) for at, one in enumerate((TAKES, second))))
    assert found.state is state
    assert bool(found.cycles) == (state is State.STUCK)


@pytest.mark.parametrize(("parent", "awaited"), [(IN_LOOP, False), (JOINS, True)])
def test_a_command_reads_what_a_server_without_requests_may_write(parent: One, awaited: bool) -> None:
    """A worker of its executor, forked later, has both ends as well and waits for a task."""
    reads = One((MAIN, STEP), BlockedCall(0, "read", (3,)), wchan="pipe_read")
    command = body(71, reads, parent=70, more=(ends("r"),))
    found = told(body(70, parent, more=(ends("w"),)), command, body(72, AWAITS_TURN, parent=70, more=(ends("w"),)))
    assert any(wait.waiter.pid == 71 and wait.target and wait.target.pid == 72 for wait in found.waits) == awaited


@pytest.mark.parametrize(("beside", "rules"), [
    ((), {"rank-in-user-code"}),
    ((One((MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=0.3, turns=9),), set()),
])  # fmt: skip
def test_a_parent_that_waits_for_the_end_of_ranks_which_wait_for_its_word(
    beside: tuple[One, ...], rules: set[str]
) -> None:
    """Unless a thread of it may still send something."""
    reads = One((MAIN, STEP), BlockedCall(0, "read", (3,)), wchan="pipe_read")
    parent = body(
        70, One((MAIN, JOIN), BlockedCall(0, "wait4"), wchan="do_wait"), *beside, role=Role.LAUNCHER, more=(ends("w"),)
    )
    both = [body(71 + rank, reads, rank=rank, role=Role.RANK, parent=70, more=(ends("r"),)) for rank in (0, 1)]
    assert {rule for rule, _ in causes(told(parent, *both, launcher="environment", world=2))} == rules
