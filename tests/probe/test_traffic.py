"""What comes through a connection for which somebody waits is counted at each look, by the kernel."""

from __future__ import annotations

import os
import socket

import pytest

from rankscope.model.evidence.blocked import Blocked, BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Sockets
from rankscope.model.evidence.traffic import Traffic
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe import netlink
from rankscope.probe.collector import Target
from rankscope.probe.collectors import sockets, traffic

PROCESS = Process(ProcessRef("here", os.getpid(), 0), Role.RANK)


@pytest.mark.parametrize(("at", "to"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")])
def test_what_comes_and_what_arrives_is_counted_apart(at: str, to: str) -> None:
    """Also on a socket of IPv6 that speaks IPv4."""
    family = socket.AF_INET6 if ":" in at else socket.AF_INET
    try:
        server = socket.create_server((at, 0), family=family, dualstack_ipv6=at == "::")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server, socket.create_connection((to, server.getsockname()[1])) as reader:
        there, _ = server.accept()
        with there:
            first = looked(reader, "recvfrom")
            there.sendall(bytes(7001))
            reader.recv(7001, socket.MSG_WAITALL)
            later = looked(reader, "recvfrom", first)
            reader.sendall(b"next")
            there.recv(4)
            last = looked(reader, "recvfrom", later)
    assert grown(first, later) == (7001, 0)
    assert grown(later, last) == (0, 4)


def test_only_who_waits_to_read_is_asked_about() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        assert looked(one, "sendto") is None
        assert looked(one, "poll") is not None


def test_a_connection_that_the_kernel_does_not_know_is_left_out() -> None:
    assert netlink.tcp_counts([("127.0.0.1:1", "127.0.0.1:2"), ("[::1]:1", "[::1]:2")]) == {}


def test_a_sandbox_that_does_not_tell_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        monkeypatch.setattr(traffic, "tcp_counts", refused)
        assert looked(one, "poll") is None


def looked(one: socket.socket, call: str, before: Traffic | None = None) -> Traffic | None:
    """One look at this process, a thread of which is in a call on a socket; later ones know the first only."""
    files = OpenFiles((OpenFile(one.fileno(), os.readlink(f"/proc/self/fd/{one.fileno()}"), "rw"),))
    if before is not None:
        return traffic.collect(Target(PROCESS, before=before))
    found = sockets.collect(Target(PROCESS, seen={"files": files}))
    assert isinstance(found, Sockets)
    seen = {"files": files, "sockets": found, "blocked": Blocked((BlockedCall(1, call, (one.fileno(),)),))}
    return traffic.collect(Target(PROCESS, seen=seen))


def grown(before: Traffic | None, now: Traffic | None) -> tuple[int, int]:
    """Bytes that came, and bytes that arrived, between two looks at one connection."""
    assert before is not None
    assert now is not None
    (first,), (last,) = before.flows, now.flows
    return last.received - first.received, last.acknowledged - first.acknowledged
