"""What the sockets of ranks say of their meeting: who knocks in vain, and who only talks to a store inside another rank."""

from __future__ import annotations

import pytest

from rankscope.model.diagnosis import Diagnosis, Kind
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.environ import Environ
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.log import Logs, LogTail
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep
from rankscope.pipeline import case_of, judge

C10D = "/x/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
MEETS = Stack([Frame("main", "/job/run.py", 3), Frame("init_process_group", C10D, 9)])
REDUCES = Stack([Frame("main", "/job/run.py", 7), Frame("all_reduce", C10D, 90)])
ASKS = Stack([Frame("main", "/job/run.py", 5)])
LISTEN = Socket(11, "tcp", "[::]:29500", "[::]:0", "listen")


def job(stacks: list[Stack], evidence: dict[int, tuple[object, ...]], uptime_s: float = 99.0) -> Snapshot:
    refs = tuple(ProcessRef("n1", 100 + rank, 1) for rank in range(len(stacks)))
    processes = tuple(Process(ref, Role.RANK, rank=rank, world_size=len(refs)) for rank, ref in enumerate(refs))

    def look(rank: int) -> tuple[Item, ...]:
        tasks = tuple(KernelThread(refs[rank].pid + more, "python", "S", wchan="poll_schedule_timeout", voluntary=3,
                                   involuntary=0, still_s=99.0) for more in (0, 1000))  # fmt: skip
        thread = PythonThread(refs[rank].pid, stacks[rank], "MainThread")
        records = (Threads(tasks, uptime_s=uptime_s), PythonStacks((thread,), engine="test"), *evidence.get(rank, ()))
        return tuple(Item(refs[rank], record) for record in records)

    sweeps = tuple(Sweep(n, float(n), refs, tuple(item for r in range(len(refs)) for item in look(r))) for n in (0, 1))
    return Snapshot(Job("environment", world_size=len(refs)), (), processes, sweeps)


def knocks(state: str = "syn-sent") -> Sockets:
    return Sockets((Socket(21, "tcp", "10.0.0.1:4444", "10.9.9.9:29500", state),))


def out_of_reach(diagnosis: Diagnosis) -> list[tuple[str, str, str]]:
    return [
        (one.cls, one.certainty.value, str(one.ranks))
        for one in diagnosis.findings
        if one.rule == "master-out-of-reach" and one.kind is Kind.CAUSE
    ]


def test_an_address_that_nobody_has_is_wrong_where_a_rank_listens_at_the_port() -> None:
    """Rank 2 is between two tries and has no connection at all."""
    snapshot = job([MEETS] * 3, {0: (Sockets((LISTEN,)),), 1: (knocks(),)})
    assert out_of_reach(judge(snapshot)) == [("wrong-interface", "likely", "1-2")]


def test_what_the_log_says_of_an_address_that_nobody_has_is_the_same_trouble() -> None:
    line = "[c10d] The client socket has failed to connect to [::ffff:10.9.9.9]:29500 (errno: 113 - No route to host)."
    logs = Logs((LogTail("/job/out.log", 1, 200, 9.0, (line,)),))
    found = judge(job([MEETS] * 3, {0: (Sockets((LISTEN,)),), 1: (knocks(), logs)}))
    assert [one.cls for one in found.findings if one.kind is Kind.CAUSE] == ["wrong-interface"]


def test_where_nobody_was_seen_to_listen_the_host_may_be_down() -> None:
    told = (knocks(), Environ({"MASTER_PORT": "29500"}))
    assert out_of_reach(judge(job([MEETS] * 2, {1: told}))) == [("rank-never-joined", "likely", "0-1")]


def test_a_connection_to_some_other_port_is_at_most_possibly_the_meeting() -> None:
    """It may be that of a tracker which reports in the background."""
    assert out_of_reach(judge(job([MEETS] * 2, {1: (knocks(),)})))[0][1] == "possible"


def test_a_job_that_has_just_begun_may_find_its_peer_in_a_moment() -> None:
    assert out_of_reach(judge(job([MEETS] * 2, {0: (Sockets((LISTEN,)),), 1: (knocks(),)}, 3.0)))[0][1] == "possible"


@pytest.mark.parametrize(("stack", "state"), [(MEETS, "established"), (ASKS, "syn-sent")])
def test_connections_that_stand_or_serve_something_else_are_not_spoken_of(stack: Stack, state: str) -> None:
    assert out_of_reach(judge(job([MEETS, stack], {0: (Sockets((LISTEN,)),), 1: (knocks(state),)}))) == []


def store_in_rank_0(serving_state: str = "epoll_wait") -> Snapshot:
    """Rank 1 has asked the store, which a second thread of rank 0 serves; rank 0 itself is in a collective."""
    server = Socket(31, "tcp", "10.0.0.1:29500", "10.0.0.1:4444", "established", peer_inode=32)
    client = Socket(32, "tcp", "10.0.0.1:4444", "10.0.0.1:29500", "established", peer_inode=31)
    calls = (BlockedCall(100, "futex", address=1), BlockedCall(1100, serving_state, (7, 8)))
    host = (Sockets((server,)), OpenFiles((OpenFile(7, "socket:[31]", "rw"),)), Blocked(calls))
    asker = (
        Sockets((client,)),
        OpenFiles((OpenFile(5, "socket:[32]", "rw"),)),
        Blocked((BlockedCall(101, "poll", (5,)),)),
    )
    return job([REDUCES, ASKS], {0: host, 1: asker})


def test_who_asks_a_store_inside_a_rank_does_not_wait_for_that_rank() -> None:
    """The store's thread waits for the next question; the one who asked is the end of the chain."""
    snapshot = store_in_rank_0()
    waits = {(wait.waiter.pid, wait.target.pid if wait.target else 0) for wait in case_of(snapshot).graph.waits}
    assert waits == {(100, 101)}
    verdict = judge(snapshot).verdict
    assert verdict is not None
    assert (verdict.cls, str(verdict.ranks)) == ("rank-stuck-in-user-code", "1")


def test_who_waits_for_an_answer_that_nobody_is_about_to_give_waits_for_the_rank() -> None:
    snapshot = store_in_rank_0("futex")
    waits = {(wait.waiter.pid, wait.target.pid if wait.target else 0) for wait in case_of(snapshot).graph.waits}
    assert (101, 100) in waits
