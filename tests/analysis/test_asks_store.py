"""Who waits for the job's store although no frame says so: the connection leads to the thread that serves it."""

from __future__ import annotations

import pytest

from rankscope.analysis.case import Member
from rankscope.analysis.standing import stand
from rankscope.analysis.waits.store import asks_store
from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, PythonStacks, PythonThread, Stack
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role


def member(pid: int, *records: object, host: str = "n1") -> Member:
    look = {type(one): one for one in records}
    return Member(Process(ProcessRef(host, pid, 1), Role.RANK, parent=1, rank=pid - 70), (look,), (True,))


def task(tid: int, comm: str, wchan: str) -> KernelThread:
    return KernelThread(tid, comm, "S", wchan, voluntary=1, involuntary=0, still_s=50.0)


ASKER = member(
    71,
    Threads((task(71, "python", "poll_schedule_timeout"),)),
    PythonStacks((PythonThread(71, Stack((Frame("wait", "/job/sync.py", 6),))),), engine="test"),
    Blocked((BlockedCall(71, "poll", (8,), timed=True),)),
    OpenFiles((OpenFile(8, "socket:[12]"),)),
    Sockets((Socket(12, "tcp", "127.0.0.1:52632", "127.0.0.1:42616", "established", peer_inode=18),)),
)


def server(comm: str, held: int = 18, host: str = "n1") -> Member:
    return member(
        70,
        Threads((task(70, "python", "futex_do_wait"), task(75, comm, "do_epoll_wait"))),
        Blocked((BlockedCall(75, "epoll_pwait", (3, 4)),)),
        OpenFiles((OpenFile(4, f"socket:[{held}]"),)),
        host=host,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("other", "asks"),
    [
        (server("pt_tcpstore_uv"), True),
        (server("pt_tcpstore"), True),
        (server("gloo_tcp_loop"), False),
        (server("pt_tcpstore_uv", held=19), False),
        (server("pt_tcpstore_uv", host="n2"), False),
    ],
)
def test_a_connection_to_the_thread_of_a_store_is_a_question_to_it(other: Member, asks: bool) -> None:
    """A port that the environment does not name, and a store that was not asked, make no other wait of it."""
    assert asks_store((ASKER, other), stand(ASKER)) is asks
