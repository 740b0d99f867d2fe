"""A rank whose name server does not answer waits in the resolver: that is said, and whom it asks can be looked up."""

from __future__ import annotations

from test_live_rules import LIB, MAIN, Body, job, ranks, said

from rankscope.model.evidence.stacks import Frame, Stack


def waiting_in(function: str) -> tuple[str, tuple[str, ...]]:
    stack = Stack([MAIN, Frame("fetch", "/job/train.py", 44), Frame(function, f"{LIB}/socket.py", 962)])
    found = said(job(*ranks(Body(72, stack, rank=2, wchan="poll_schedule_timeout"))), "rank-in-user-code")
    assert found is not None
    assert set(found.ranks) == {2}
    return found.title, tuple(map(str, found.next))


def test_a_name_that_is_not_resolved_is_called_that() -> None:
    """The process may have a resolver of its own, so its own file is pointed at."""
    title, following = waiting_in("getaddrinfo")
    assert "looks up the address of a host in fetch (train.py:44)" in title
    assert "nsenter -t 72 -m cat /etc/resolv.conf" in following


def test_another_wait_on_the_network_is_not() -> None:
    title, following = waiting_in("accept")
    assert "waits on a socket" in title
    assert not any("resolv.conf" in one for one in following)
