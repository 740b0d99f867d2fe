"""A connection that its server has not accepted is told from one that it has, with the socket that listens."""

from __future__ import annotations

import os
import socket

import pytest

from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Sockets
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe.collector import Target
from rankscope.probe.collectors import sockets


@pytest.mark.parametrize(
    ("at", "to"), [("127.0.0.1", "127.0.0.1"), ("", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")]
)
def test_who_listens_is_the_peer_until_it_accepts(at: str, to: str) -> None:
    family = socket.AF_INET6 if ":" in at else socket.AF_INET
    try:
        server = socket.create_server((at, 0), family=family, dualstack_ipv6=at == "::")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server, socket.create_connection((to, server.getsockname()[1])) as asker:
        inode = os.fstat(server.fileno()).st_ino
        assert seen(asker) == (inode, True)
        there, _ = server.accept()
        with there:
            assert seen(asker) == (os.fstat(there.fileno()).st_ino, False)


def test_a_server_whose_queue_is_full_is_the_peer_of_who_knocks() -> None:
    """The kernel drops requests that do not fit (listen(2)); a server that is not there at all refuses them."""
    server = socket.create_server(("127.0.0.1", 0), backlog=0)
    askers = [socket.socket() for _ in range(4)]
    for asker in askers:
        asker.setblocking(False)
        asker.connect_ex(server.getsockname())
    try:
        assert seen(askers[-1]) == (os.fstat(server.fileno()).st_ino, True)
    finally:
        for one in (server, *askers):
            one.close()


def seen(asker: socket.socket) -> tuple[int, bool]:
    process = Process(ProcessRef("here", os.getpid(), 0), Role.OTHER)
    files = OpenFiles((OpenFile(asker.fileno(), os.readlink(f"/proc/self/fd/{asker.fileno()}"), "rw"),))
    found = sockets.collect(Target(process, seen={"files": files}))
    assert isinstance(found, Sockets)
    (one,) = found.sockets
    return one.peer_inode, one.unaccepted
