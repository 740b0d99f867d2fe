"""A process waits for the answer of a server that has not even accepted its connection.

## What it means
The kernel completes a connection before the program does: it stands in the queue of `accept`, the request is sent, and no answer
comes. A server that serves one caller at a time is busy with another one, which may be silent for ever; or it is stuck itself.

## How it is recognised
The kernel's table shows the other end of the connection without an owner, and who listens at its port. The one who asks has not
run for longer than `--stuck-after`. The server is no part of the job, so its own wait is not seen.

## What to do
Look at the server: `rankscope diagnose pid:PID`. `ss -tlnp` shows how many callers wait (Recv-Q of the socket that listens),
`ss -tnp` with whom it speaks; end a caller that is silent.

## How to prevent it
Servers with a thread or task per caller (`socketserver.ThreadingTCPServer`), with time limits for silent ones; time limits for
those who ask.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.case import Case
from ...analysis.frame_tables import WaitKind
from ...analysis.standing import Standing
from ...model.diagnosis import Certainty, Finding, Kind, Reason, Step
from ...model.evidence.outsiders import Outsider
from ...model.evidence.sockets import Sockets
from ...model.ranks import RankSet, ranks_phrase
from .. import make_rule
from .._outside import outsiders, process_of, said
from .._say import stands, who


def check(case: Case) -> Iterator[Finding]:
    waiting: dict[tuple[str, int], list[tuple[Standing, Outsider]]] = {}
    for standing in case.standings.values():
        if standing.member.gone or standing.ran or not case.stuck(standing.still_s):
            continue
        for one in outsiders(case, standing):
            if one.state in ("S", "D") and _queued(standing, one):
                waiting.setdefault((standing.member.ref.host, one.pid), []).append((standing, one))
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


def _queued(standing: Standing, server: Outsider) -> bool:
    sockets = standing.member.latest(Sockets)
    return any(one.unaccepted and one.peer_inode == server.inode for one in (sockets.sockets if sockets else ()))


RULE = make_rule(__name__, __doc__, "rank-stuck-in-user-code", 28, check)
