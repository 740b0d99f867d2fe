"""Whether a whole job runs on one host, as far as the connections of its ranks tell.

Nobody promises the ranks that a script starts by itself: of a world of four, the one that is not among the processes here may
run on another host. It does not where the ranks are connected, and only within the job: whoever has the store, or has met its
peers in gloo, holds a connection to each of them that lives.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.evidence.sockets import Socket, Sockets
from ..model.process import Role
from ..model.ranks import RankSet
from .case import Member


def ranks_here(members: Sequence[Member], world_size: int | None) -> RankSet:
    """All ranks of a job that runs on one host as a whole; none where some of them may run elsewhere."""
    ranks = [member for member in members if member.role is Role.RANK and not member.dead]
    if not world_size or len({member.ref.host for member in ranks}) != 1:
        return RankSet()
    known = {one.inode for member in members for one in _sockets(member)}
    ends = [{one.peer_inode for one in _sockets(member) if one.state == "established"} for member in ranks]
    return RankSet(range(world_size)) if all(met and met <= known for met in ends) else RankSet()


def _sockets(member: Member) -> tuple[Socket, ...]:
    found = member.latest(Sockets)
    return tuple(one for one in found.sockets if one.kind == "tcp") if found is not None else ()
