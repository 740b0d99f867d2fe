"""Programs that ask, read, accept or start again in vain, each beside the healthy one that looks alike."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from test_one_machine import ASKS, LIB, MAIN, STEP, Body, One, body, causes, told

from rankscope import pipeline
from rankscope.model.diagnosis import Certainty, Diagnosis, Kind, State
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.outsiders import Outsider, Outsiders
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, Local, PythonStacks
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Host, Item, Job, Snapshot, Sweep
from rankscope.pipeline import judge
from rankscope.probe import discover
from rankscope.probe.discover import Found

POLLED = ("dead-child-polled-for", "child-dead")
NAPS = One(
    (MAIN, STEP), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep", still_s=0.1, turns=30
)
GET = Frame("Queue.get", f"{LIB}/multiprocessing/queues.py", 113)
POLL = Frame("wait", f"{LIB}/multiprocessing/connection.py", 947)
POLLS = One((MAIN, STEP, GET, POLL), BlockedCall(0, "poll", (3,), timed=True), wchan="do_poll", still_s=0.3, turns=2)


def with_locals(made: Body, *values: tuple[Local, ...]) -> Body:
    """The process with these locals of its main thread at each look."""
    process, looks = made
    return process, tuple(
        tuple(
            dataclasses.replace(one, threads=(dataclasses.replace(one.threads[0], locals=seen), *one.threads[1:]))
            if isinstance(one, PythonStacks)
            else one
            for one in look
        )
        for look, seen in zip(looks, values)
    )


def dead(code: int, pid: int = 71) -> Body:
    """A zombie child of 70 with this exit code."""
    return body(pid, One((), state="Z", wchan=""), parent=70, exit_status=code << 8)


@pytest.mark.parametrize(
    ("code", "number", "sibling", "accused"),
    [(3, "71", False, True), (3, "5", False, False), (0, "71", False, False), (3, "71", True, False)],
    ids=["its child", "a command that found nothing", "a child that ended well", "another child lives"],
)
def test_who_naps_with_the_number_of_a_failed_child_at_hand(
    code: int, number: str, sibling: bool, accused: bool
) -> None:
    """``while alive(pid): sleep(0.2)``: ``os.kill(pid, 0)`` finds a zombie as well."""
    local = (Local(1, "pid", number),)
    other = [body(72, One((MAIN, STEP), still_s=0.1, turns=4), parent=70)] if sibling else []
    found = told(with_locals(body(70, NAPS), local, local), dead(code), *other, launcher="none")
    assert (POLLED in causes(found)) is accused


@pytest.mark.parametrize(
    ("code", "taken", "outer", "accused"),
    [(1, False, "2", True), (0, False, "2", False), (1, True, "2", False), (1, False, "3", False)],
    ids=["failed", "ended well", "another program fills it", "it gets on"],
)
def test_who_polls_the_queue_of_a_failed_child(code: int, taken: bool, outer: str, accused: bool) -> None:
    """Until when it waits the queue keeps in its locals: they change, and nothing gets on."""
    looks = tuple((Local(1, "got", got), Local(2, "deadline", str(at))) for at, got in ((7.5, "2"), (8.5, outer)))
    more = (Outsiders((Outsider(99, "feeder", "S", fd=3, inode=8),)),) if taken else ()
    found = told(with_locals(body(70, POLLS, more=more), *looks), dead(code), launcher="none")
    assert (POLLED in causes(found)) is accused


def spinner(calls: int, end: str, fresh: int = 0) -> Diagnosis:
    """Rank 1 reads so often a second, and counts; rank 0 waits for it. Its child has ended well."""
    sockets = {pid: Sockets((Socket(pid, "unix", peer_inode=139 - pid),)) for pid in (69, 70)}
    files = {pid: (OpenFile(3, f"socket:[{pid}]", "rw"),) for pid in (69, 70)}
    reads = One((MAIN, STEP), state="R", wchan="", still_s=0.0, turns=9)
    pipes = (OpenFile(4, "pipe:[8]", "r"), *((OpenFile(5, "pipe:[8]", "w"),) if end == "own" else ()))
    process, looks = with_locals(
        body(70, reads, role=Role.RANK, rank=1, more=(sockets[70], OpenFiles((*files[70], *pipes)))),
        (Local(1, "seen", "5"),), (Local(1, "seen", "900"),),
    )  # fmt: skip
    counted = tuple(
        tuple(
            dataclasses.replace(one, read_bytes=at * fresh, written_bytes=0, read_calls=at * calls)
            if isinstance(one, Threads)
            else one
            for one in look
        )
        for at, look in enumerate(looks)
    )
    waits = body(69, ASKS, role=Role.RANK, rank=0, more=(sockets[69], OpenFiles(files[69])))
    return told(waits, (process, counted), dead(0), launcher="environment")


@pytest.mark.parametrize(
    ("calls", "end", "fresh", "accused"),
    [(90_000, "child", 0, True), (3, "child", 0, False), (90_000, "own", 0, False), (90_000, "child", 4096, False)],
    ids=["end of file", "computes", "a pipe that is open", "lines come"],
)
def test_a_rank_that_reads_on_at_the_end_of_a_pipe_does_not_work(
    calls: int, end: str, fresh: int, accused: bool
) -> None:
    """Each read returns at once with nothing, and what it counts is how often."""
    found = spinner(calls, end, fresh)
    assert (POLLED in causes(found)) is accused
    assert found.state is (State.STUCK if accused else State.SLOW)
    assert any(one.rule == "straggler" for one in found.findings) is not accused


@pytest.mark.parametrize(
    ("queued", "many", "accused"), [(2, 9, True), (0, 9, False), (2, 3, False)], ids=["called", "no caller", "room"]
)
def test_an_event_loop_that_can_accept_nobody_any_more(queued: int, many: int, accused: bool) -> None:
    """asyncio looks at the listening socket again a second after EMFILE, for ever."""
    files = OpenFiles(tuple(OpenFile(fd, f"socket:[{fd}]", "rw") for fd in range(many)), limit=9)
    sockets = Sockets((Socket(1, "tcp", "127.0.0.1:80", "", "listen", receive_queue=queued),))
    loop = Frame("BaseEventLoop._run_once", f"{LIB}/asyncio/base_events.py", 1898)
    select = Frame("EpollSelector.select", f"{LIB}/selectors.py", 468)
    main = One(
        (MAIN, loop, select), BlockedCall(0, "epoll_wait", (1, 2), timed=True), wchan="ep_poll", still_s=0.4, turns=1
    )
    found = told(body(70, main, more=(files, sockets)), launcher="none")
    assert (("descriptors-used-up", "resource-limit") in causes(found)) is accused


SERVES = (MAIN, Frame("BaseServer.serve_forever", f"{LIB}/socketserver.py", 238))
STOPS = (
    STEP,
    Frame("BaseServer.shutdown", f"{LIB}/socketserver.py", 254),
    Frame("Condition.wait", f"{LIB}/threading.py", 327),
)


@pytest.mark.parametrize(
    ("threads", "accused"),
    [
        ((One((*SERVES, *STOPS), BlockedCall(0, "futex")),), True),
        ((One((*SERVES, *STOPS), BlockedCall(0, "futex"), still_s=0.2),), False),
        ((One((*SERVES, *STOPS), BlockedCall(0, "futex")), One(SERVES, BlockedCall(0, "poll", (3,)))), False),
        ((One((MAIN, *STOPS), BlockedCall(0, "futex")), One(SERVES, BlockedCall(0, "poll", (3,)))), False),
    ],
    ids=["its own loop", "young", "another server", "from another thread"],
)
def test_a_server_that_is_shut_down_by_the_thread_that_serves(threads: tuple[One, ...], accused: bool) -> None:
    found = told(body(70, *threads), launcher="none")
    assert (("stops-its-own-loop", "lock-order-deadlock") in causes(found)) is accused


def brief(count: int | None) -> Snapshot:
    """torchrun, two minutes old, and a rank that was found and had ended before the first look."""
    agent = Process(ProcessRef("n1", 70, 1), Role.LAUNCHER, parent=1, comm="torchrun", command=("torchrun",))
    rank = Process(
        ProcessRef("n1", 71, 2), Role.RANK, parent=70, comm="python", command=("python",), rank=0, attempt=count
    )
    task = KernelThread(70, "torchrun", "S", "hrtimer_nanosleep", voluntary=3, involuntary=0, still_s=0.1)
    sweeps = tuple(
        Sweep(at, float(at), (agent.ref,), (Item(agent.ref, Threads((task,), uptime_s=120.0 + at)),)) for at in (0, 1)
    )
    return Snapshot(Job("torchrun", root=agent.ref, world_size=1), (Host("n1"),), (agent, rank), sweeps)


@pytest.mark.parametrize(("count", "again"), [(40, True), (1, False), (None, False)])
def test_ranks_that_end_before_they_can_be_looked_at(count: int | None, again: bool) -> None:
    found = judge(brief(count))
    said = [one for one in found.findings if one.kind is Kind.CAUSE and one.rule == "ranks-started-again"]
    assert [one.certainty for one in said] == ([Certainty.LIKELY] if again else [])
    assert found.state is (State.STUCK if again else State.EXITED)


def test_an_agent_without_ranks_is_met_between_two_attempts() -> None:
    agent = Process(ProcessRef("n1", 70, 1), Role.LAUNCHER, parent=1)
    rank = Process(ProcessRef("n1", 71, 2), Role.RANK, parent=70, rank=0)
    assert discover.between_attempts(Found(Job("torchrun", root=agent.ref), (agent,)))
    assert not discover.between_attempts(Found(Job("torchrun", root=agent.ref), (agent, rank)))
    assert not discover.between_attempts(Found(Job("plain", root=agent.ref), (agent,)))


def test_the_ranks_of_the_next_attempt_are_waited_for_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that waits for other hosts has no ranks either: so many looks, and no more."""
    agent = Process(ProcessRef("n1", 70, 1), Role.LAUNCHER, parent=1)
    rank = Process(ProcessRef("n1", 71, 2), Role.RANK, parent=70, rank=0)
    bare, whole = (Found(Job("torchrun", root=agent.ref), found) for found in ((agent,), (agent, rank)))
    monkeypatch.setattr(pipeline.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(pipeline, "read_table", lambda *name, **more: None)
    monkeypatch.setattr(discover, "with_gaps", lambda table, found: found)
    seen: list[Found] = []
    for answers, looks in ((itertools.repeat(bare), 5), (iter((bare, bare, whole)), 3)):
        seen.clear()
        monkeypatch.setattr(
            discover, "job_of", lambda table, pid, answers=answers: seen.append(next(answers)) or seen[-1]
        )
        assert pipeline.find(pipeline.Look(pid=70))[1] == (seen[-1],)
        assert len(seen) == looks
