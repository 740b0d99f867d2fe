"""A rank that waits for a key in the job's store waits for the ranks that should be here and are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.evidence.environ import Environ
from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Sockets
from ...model.evidence.store import StoreKeys
from ...model.process import Role
from ..case import Member
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing


def find(scene: Scene) -> Iterator[Wait | Share]:
    crowd = Crowd(tuple(map(scene.rank_ref, scene.missing)))
    for standing in scene.of_role(Role.RANK) if scene.missing else ():
        if asks_store(scene.members.values(), standing):
            yield from for_all(standing.member.ref, crowd, "its key in the store", standing.still_s)


def asks_store(members: Iterable[Member], standing: Standing) -> bool:
    """Whether a thread waits for an answer of the job's store, as its frames say, or the one connection it waits on, which
    leads to the port at which the store spoke to us."""
    if standing.kind is WaitKind.STORE:
        return True
    member = standing.member
    blocked, files, sockets = member.latest(Blocked), member.latest(OpenFiles), member.latest(Sockets)
    if standing.kind is not WaitKind.SOCKET or not (blocked and files and sockets and standing.kernel):
        return False
    fds = next((call.fds for call in blocked.calls if call.tid == standing.kernel.tid), ())
    targets = {one.target for one in files.files if (one.fd,) == fds}
    ports = {one.peer.rpartition(":")[2] for one in sockets.sockets if f"socket:[{one.inode}]" in targets}
    environ = member.latest(Environ)
    port = environ.values.get("MASTER_PORT", "") if environ else ""
    return port in ports and any(one.latest(StoreKeys) is not None for one in members)
