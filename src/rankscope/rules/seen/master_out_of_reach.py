"""Ranks knock at an address where nobody answers, while the job's meeting point is somewhere else.

## What it means
`MASTER_ADDR` (or the rendezvous endpoint) leads these ranks to a wrong place: a name that resolves to another network, an
address of an interface that the others cannot reach, a host of an earlier run. They try again until their limit is over, and
the ranks that are at the right place wait for them.

## How it is recognised
A rank stands in `init_process_group` or the rendezvous, and its connection is still half open (`SYN-SENT`): no host said yes
or no. Or it has no connection at all, long after it was started. Where a rank of the same job listens at this very port under
other addresses, the address is what is wrong; where nobody was seen to listen, the host may as well be down or shielded.

## What to do
`getent hosts $MASTER_ADDR` and `ip route get ADDRESS` on the hosts of the named ranks; give all ranks an address of rank 0 that
they can reach (`ip -br addr` on its host).

## How to prevent it
Take the address from the scheduler's list of hosts; check `MASTER_ADDR:MASTER_PORT` from every host before the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case, Member
from ...analysis.frame_tables import WaitKind
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.environ import Environ
from ...model.evidence.sockets import Socket, Sockets
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import verb
from .. import make_rule
from .._say import at, is_old, name


def check(case: Case) -> Iterator[Finding]:
    meeting = {
        rank: member for rank, member in case.by_rank.items() if case.standings[member.ref].kind is WaitKind.RENDEZVOUS
    }
    knocking = {rank: one for rank, member in meeting.items() if (one := _half_open(member)) is not None}
    if not knocking:
        knocking = {rank: one for rank, member in meeting.items() if (one := _refused(case, member)) is not None}
    if not case.snapshot.live or not knocking:
        return
    rank, first = next(iter(knocking.items()))
    there = meeting[rank].ref
    host = _listener(case, first.peer)
    meant = host is not None or first.peer.rpartition(":")[2] in _ports(case)
    lost = RankSet(knocking) | RankSet(rank for rank, member in meeting.items() if not _tcp(member))
    yield Finding(
        rule=RULE.id, cls="wrong-interface" if host is not None else RULE.cls, kind=Kind.CAUSE,
        certainty=Certainty.LIKELY if meant and all(is_old(case, meeting[rank]) for rank in knocking) else Certainty.POSSIBLE,
        title=f"{ranks_phrase(lost)} {verb('try', len(lost))} to reach the meeting point at {first.peer}, where nobody answers",
        ranks=lost, processes=tuple(process for rank in lost for process in case.of_rank(rank)),
        because=tuple(_reasons(case, knocking, host)),
        next=(Step(f"ip route get {first.peer.rpartition(':')[0]}", there, f"on the host of {ranks_phrase(lost)}"),
              Step("ip -br addr", there, "there and on the master: which addresses does each have?")),
    )  # fmt: skip


def _reasons(case: Case, knocking: dict[int, Socket], host: Member | None) -> Iterator[Reason]:
    for rank, one in list(knocking.items())[:4]:
        ref = case.by_rank[rank].ref
        place = at(case.standings[ref].user_frame)
        how = (
            f"its connection {one.local} → {one.peer} is half open"
            if one.local
            else f"it has no connection to {one.peer}"
        )
        yield Reason(f"{name(case, ref)} stands in {place}; {how}", "sockets", ref)
    if host is not None:
        text = f"{name(case, host.ref)} listens at this port, and the address is none of its connections'"
        yield Reason(text, "sockets", host.ref)


def _ports(case: Case) -> set[str]:
    """The ports of the meeting point, as far as environments tell; another connection may be of a tracker or a store of data."""
    found = (member.latest(Environ) for member in case)
    return {
        environ.values["MASTER_PORT"] for environ in found if environ is not None and "MASTER_PORT" in environ.values
    }


def _tcp(member: Member) -> tuple[Socket, ...]:
    found = member.latest(Sockets)
    return tuple(one for one in found.sockets if one.kind == "tcp") if found else ()


def _half_open(member: Member) -> Socket | None:
    return next((one for one in _tcp(member) if one.state == "syn-sent"), None)


def _refused(case: Case, member: Member) -> Socket | None:
    """The connection that a rank still lacks long after it was started, where somebody of the job listens at that port:
    the address has no route, or a machine without this port answers at it."""
    environ = member.latest(Environ)
    address, port = (environ.values.get(key, "") for key in ("MASTER_ADDR", "MASTER_PORT")) if environ else ("", "")
    if (
        not address
        or not port
        or not is_old(case, member)
        or any(one.peer.endswith(f":{port}") for one in _tcp(member))
    ):
        return None
    wanted = Socket(0, "tcp", peer=f"{address}:{port}")
    host = _listener(case, wanted.peer)
    return wanted if host is not None and host is not member else None


def _listener(case: Case, peer: str) -> Member | None:
    """The rank or launcher that listens at the port, but was never reached under this address."""
    address, _, port = peer.rpartition(":")
    for member in case:
        own = _tcp(member)
        listens = any(one.state == "listen" and one.local.rpartition(":")[2] == port for one in own)
        if listens and not any(one.local.rpartition(":")[0] == address for one in own):
            return member
    return None


RULE = make_rule(__name__, __doc__, "rank-never-joined", 23, check)
