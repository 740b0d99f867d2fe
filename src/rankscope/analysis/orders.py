"""Who may rightly keep its peers waiting: the rank of a server that takes the requests, and hands each one on to the others; a
child that its parent gives no work."""

from __future__ import annotations

from ..model.process import Role
from .callers import call_of, has_server
from .case import Case, Root
from .ends import seen_beyond, targets, writable
from .frame_tables import WaitKind
from .threads import may_act_beside

# Where a server waits for its next request.
_TAKES = (WaitKind.QUEUE, WaitKind.SOCKET, WaitKind.PIPE, WaitKind.IDLE, WaitKind.CONDITION)
_READS = ("read", "recv", "poll", "ppoll")
# Calls in which one rank has something for all others.
_HANDS_ON = ("broadcast", "bcast")


def may_await_orders(case: Case, root: Root) -> bool:
    """Whether a rank waits for something from outside, and all ranks that it keeps waiting stand in one broadcast, as those
    of an idle tensor-parallel server do: the next request brings them on."""
    standing = case.standings.get(root.ref)
    takes = standing is not None and (
        standing.kind in _TAKES or (standing.kind is WaitKind.LIBRARY and standing.ran is False)
    )
    if not takes or not root.ranks:
        return False
    peers = [case.standings[member.ref] for rank in root.ranks if (member := case.by_rank.get(rank)) is not None]
    calls = {(one.kind, one.wait.op) for one in peers}
    return len(calls) == 1 and all(kind is WaitKind.COLLECTIVE and _hands_on(op) for kind, op in calls)


def serves(case: Case, root: Root) -> bool:
    """Whether it does so in the loop of a server or for the next caller, which nothing but a request ends, or waits for what a
    thread of its own brings that waits for callers."""
    standing = case.standings.get(root.ref)
    if standing is None or not may_await_orders(case, root):
        return False
    call = call_of(standing)
    accepts = standing.kind is WaitKind.SOCKET and call is not None and call.call.startswith("accept")
    return (
        accepts or standing.kind is WaitKind.IDLE or (standing.kind is WaitKind.QUEUE and has_server(standing.member))
    )


def takes_from_parent(case: Case, root: Root) -> bool:
    """Whether a process that is no rank reads from the very parent that waits for it, while another thread of that one may
    bring it work."""
    standing, parent = case.standings.get(root.ref), case.standings.get(root.waiters[0]) if root.waiters else None
    call = call_of(standing) if standing is not None else None
    if standing is None or parent is None or call is None or standing.member.role is Role.RANK or len(root.waiters) > 1:
        return False
    wanted = {seen_beyond(one) for _, one in targets(standing.member, call.fds)}
    reads = call.call.startswith(_READS) and bool(wanted) and wanted <= writable(parent.member)
    return reads and bool(may_act_beside(parent))


def _hands_on(call: str) -> bool:
    return any(name in call.lower() for name in _HANDS_ON)
