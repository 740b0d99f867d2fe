"""A process waits for the answer of a server that has not even accepted its connection.

## What it means
The kernel completes a connection before the program does: it stands in the queue of `accept`, the request is sent, and no answer
comes. A server that serves one caller at a time is busy with another one, which may be silent for ever; or it is stuck itself.

## How it is recognised
The kernel's table shows the other end of the connection without an owner, and who listens at its port. The one who asks has not
run for longer than `--stuck-after`. Where the server is no part of the job its own wait is not seen. Where all processes that
have the socket which listens stand still for as long, and one of them is who asks, the server waits for itself.

## What to do
Look at the server: `rankscope diagnose pid:PID`. `ss -tlnp` shows how many callers wait (Recv-Q of the socket that listens),
`ss -tnp` with whom it speaks; end a caller that is silent.

## How to prevent it
Servers with a thread or task per caller (`socketserver.ThreadingTCPServer`), with time limits for silent ones; time limits for
those who ask.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.callers import call_of
from ...analysis.case import Case, Member
from ...analysis.ends import targets
from ...analysis.frame_tables import WaitKind
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.blocked import Blocked
from ...model.evidence.files import OpenFiles
from ...model.evidence.outsiders import Outsider
from ...model.evidence.sockets import Socket, Sockets, inode_of
from ...model.ranks import RankSet, ranks_phrase
from ...model.words import counted, verb
from .. import make_rule
from .._outside import outsiders, process_of, said
from .._say import at, stands, who


def check(case: Case) -> Iterator[Finding]:
    waiting: dict[tuple[str, int], list[tuple[Standing, Outsider]]] = {}
    for standing in case.standings.values():
        if standing.member.gone or standing.ran or not case.stuck(standing.still_s):
            continue
        for one in outsiders(case, standing):
            if one.state in ("S", "D") and _queued(standing, one):
                waiting.setdefault((standing.member.ref.host, one.pid), []).append((standing, one))
    yield from _ask_themselves(case)
    for found in waiting.values():
        first, server = found[0]
        ranks = RankSet(standing.member.rank for standing, _ in found if standing.member.rank is not None)
        whom = ranks_phrase(ranks) if ranks else who(first.member.process)
        # At the meeting point a stranger is the smaller wonder: why it is there is told by who wanted the port.
        meets = all(standing.kind in (WaitKind.RENDEZVOUS, WaitKind.STORE) for standing, _ in found)
        certainty = Certainty.POSSIBLE if meets else Certainty.LIKELY
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=certainty,
            title=f"{whom} {'wait' if len(ranks) > 1 else 'waits'} for {said(server)}: it has not accepted the connection",
            ranks=ranks,
            processes=(process_of(first, server), *(standing.member.process for standing, _ in found)),
            because=(Reason(f"the connection stands in the queue of accept; pid {server.pid} listens there", "kernel"),
                     *(stands(standing) for standing, _ in found[:4])),
            against=("the server may be busy with other callers, and come to this one",),
            next=(Step(f"rankscope diagnose pid:{server.pid}", first.member.ref), Step("ss -tlnp; ss -tnp", first.member.ref)),
        )  # fmt: skip


def _ask_themselves(case: Case) -> Iterator[Finding]:
    """Servers whose processes all wait, one of them for an answer of this very server."""
    asking: dict[tuple[str, int], list[Standing]] = {}
    for standing in case.standings.values():
        call = call_of(standing)
        if call is None or standing.member.gone or standing.ran or not case.stuck(standing.still_s):
            continue
        for _, one in targets(standing.member, call.fds):
            if isinstance(one, Socket) and one.unaccepted and one.peer_inode in _listening(standing.member):
                asking.setdefault((standing.member.ref.host, one.peer_inode), []).append(standing)
    for (host, inode), askers in asking.items():
        servers = [case.standings[one.ref] for one in case.by_host[host] if not one.gone and inode in _listening(one)]
        if any(one.ran is not False or not case.stuck(one.still_s) or _accepts(one) for one in servers):
            continue
        count, first = len(askers), askers[0]
        yield Finding(
            rule=RULE.id, cls=RULE.cls, kind=Kind.CAUSE, certainty=Certainty.LIKELY,
            title=f"{counted(count, 'process')} {verb('wait', count)} in {at(first.user_frame)} for an answer of the server that "
                  "these are themselves: nobody is left to accept",
            ranks=RankSet(one.member.rank for one in askers if one.member.rank is not None),
            processes=tuple(one.member.process for one in askers),
            because=(Reason("the connection stands in the queue of accept, of a socket that who asks has itself", "sockets",
                            first.member.ref), *map(stands, askers[:4])),
            next=(Step(f"rankscope stacks pid:{first.member.ref.pid} --source", first.member.ref),
                  "more workers, or a thread for each caller; call the function in place of the address"),
        )  # fmt: skip


def _listening(member: Member) -> set[int]:
    sockets = member.latest(Sockets)
    return {one.inode for one in (sockets.sockets if sockets else ()) if one.state == "listen"}


def _accepts(standing: Standing) -> bool:
    """Whether a thread of it waits for the next caller, alone or among other things."""
    blocked, listening = standing.member.latest(Blocked), _listening(standing.member)
    calls = blocked.calls if blocked else ()
    files = standing.member.latest(OpenFiles)
    held = {one.fd for one in (files.files if files else ()) if inode_of(one.target) in listening}
    return any(held.intersection(call.fds) for call in calls)


def _queued(standing: Standing, server: Outsider) -> bool:
    sockets = standing.member.latest(Sockets)
    return any(one.unaccepted and one.peer_inode == server.inode for one in (sockets.sockets if sockets else ()))


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 28, check)
