"""Data has been sent, the peer waits for it, and it does not arrive.

## What it means
A connection looks established at both ends, yet packets are lost on the way: a firewall or NAT that forgot the connection, a
wrong MTU, a dead link that nobody reset. TCP keeps trying for many minutes without telling the program.

## How it is recognised
One end's send queue holds bytes that the kernel has sent several times in a row without an acknowledgement (`retrnsmt` in
`/proc/net/tcp`), the other end's receive queue is empty, and its process, which reads from exactly this connection, has stood
for longer than `--stuck-after`. A large transfer over a slow link has bytes in its queue too, and they are acknowledged.

## What to do
Test the path between the two addresses in both directions and with large packets (`ping -M do -s 8972`), look at firewall
rules and `ss -tinp` (retransmissions), and at the counters of the interfaces.

## How to prevent it
A preflight test of all pairs; open the ephemeral ports between the nodes; keep-alives shorter than the NAT's idle limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...analysis.case import Case
from ...analysis.under_way import Pair, stalled_pairs
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.words import span
from .. import make_rule
from .._say import name


def check(case: Case) -> Iterator[Finding]:
    for pairs in _by_route(pair for pair in stalled_pairs(case) if case.stuck(pair.still_s)):
        first = pairs[0]
        refs = dict.fromkeys(ref for pair in pairs for ref in (pair.sender, pair.receiver))
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY, title=_title(case, pairs),
            processes=tuple(case.by_ref[ref].process for ref in refs),
            because=(Reason(f"{first.sending.send_queue} bytes stand unacknowledged in the send queue, sent again "
                            f"{first.sending.resent} times in a row; the receive queue of the other end is empty", "sockets",
                            first.sender),
                     Reason(f"the other end reads from it, and has stood for {span(first.still_s)}", "kernel", first.receiver)),
            next=(Step(f"ss -tinp | grep -A1 {first.sending.peer}", first.sender),
                  Step(f"ping -c3 -M do -s 8972 {first.sending.peer.rpartition(':')[0]}", first.sender)),
        )  # fmt: skip


def _by_route(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Pairs whose data takes the same way: between the same two processes here, between the same two hosts elsewhere."""
    routes: dict[frozenset[object], list[Pair]] = {}
    for pair in pairs:
        hosts = frozenset((pair.sender.host, pair.receiver.host))
        routes.setdefault(hosts if len(hosts) == 2 else frozenset((pair.sender, pair.receiver)), []).append(pair)
    return list(routes.values())


def _title(case: Case, pairs: list[Pair]) -> str:
    first, ends = pairs[0], {frozenset((pair.sender, pair.receiver)) for pair in pairs}
    if len(ends) > 1:
        hosts = sorted({first.sender.host, first.receiver.host})
        many = f"{len(pairs)} connections of {len(ends)} pairs of ranks"
        return f"data between {hosts[0]} and {hosts[1]} does not arrive, on {many}"
    one, other = name(case, first.sender), name(case, first.receiver)
    if len({pair.sender for pair in pairs}) > 1:
        return f"what {one} and {other} send each other does not arrive: {first.sending.local} ↔ {first.sending.peer}"
    return f"data from {one} does not reach {other}: {first.sending.local} → {first.sending.peer}"


RULE = make_rule(__name__, __doc__, "network-blackhole", 19, check)
