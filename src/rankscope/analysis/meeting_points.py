"""Where ranks meet: the address or file that each was given, the store that it asks, and who asks in a file whether the others
have come.

A ``FileStore`` has no server: whoever waits for a key reads the file again every hundredth of a second
(torch/csrc/distributed/c10d/FileStore.cpp), so that the kernel knows no age of its wait.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.evidence.sockets import Socket, Sockets
from ..model.process import Role
from .callers import call_of
from .ends import targets
from .frame_tables import WaitKind
from .standing import Standing

LOCAL = "meeting point"


def meeting_point(standing: Standing) -> str:
    """The address at which a rank in the meeting was told to meet, without its options; empty where nothing tells, as where
    the environment has it."""
    found = standing.thread.locals if standing.thread is not None and standing.kind is WaitKind.RENDEZVOUS else ()
    told = next((one.value.partition("?")[0] for one in found if one.name == LOCAL), "")
    return "" if told.startswith("env:") else told


def asked_store(standing: Standing) -> str:
    """The address of the store of whose keys a rank in the meeting waits for one: that of the connection it reads; empty where
    nothing tells."""
    call = call_of(standing) if standing.kind is WaitKind.RENDEZVOUS else None
    lines = (
        [one for _, one in targets(standing.member, call.fds) if isinstance(one, Socket)] if call is not None else []
    )
    return lines[0].peer if len(lines) == 1 and lines[0].kind == "tcp" and not lines[0].unaccepted else ""


def listens_at(standing: Standing) -> set[str]:
    """The ports at which a rank in the meeting has a server."""
    sockets = standing.member.latest(Sockets) if standing.kind is WaitKind.RENDEZVOUS else None
    listening = (one for one in (sockets.sockets if sockets else ()) if one.state == "listen")
    return {port_of(one.local) for one in listening}


def port_of(address: str) -> str:
    """What tells the places of two servers apart: one host may be called by many names."""
    return address.rpartition(":")[2]


def meets_in_file(standing: Standing) -> bool:
    """Whether it asks a file again and again for its peers."""
    return meeting_point(standing).startswith("file:")


def all_meet_in_files(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """The ranks, where every one of them does so: then nobody is on its way any more."""
    ranks = tuple(one for one in standings if one.member.role is Role.RANK and not one.member.dead)
    return ranks if ranks and all(map(meets_in_file, ranks)) else ()
