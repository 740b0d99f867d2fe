"""A rank that waits for a key in the job's store waits for the ranks that should be here and are not."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.evidence.environ import Environ
from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Sockets, inode_of
from ...model.evidence.store import StoreKeys
from ...model.evidence.threads import Threads
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


# What torch calls the thread that serves a TCPStore (torch/csrc/distributed/c10d/TCPStoreBackend.cpp, TCPStoreLibUvBackend.cpp).
_SERVER = "pt_tcpstore"


def asks_store(members: Iterable[Member], standing: Standing) -> bool:
    """Whether a thread waits for an answer of the job's store, as its frames say, or the one connection it waits on: it leads to
    the port at which the store spoke to us, or to the thread of a store in another process."""
    if standing.kind is WaitKind.STORE:
        return True
    member = standing.member
    blocked, files, sockets = member.latest(Blocked), member.latest(OpenFiles), member.latest(Sockets)
    if standing.kind is not WaitKind.SOCKET or not (blocked and files and sockets and standing.kernel):
        return False
    fds = next((call.fds for call in blocked.calls if call.tid == standing.kernel.tid), ())
    targets = {one.target for one in files.files if (one.fd,) == fds}
    found = [one for one in sockets.sockets if f"socket:[{one.inode}]" in targets]
    ports = {one.peer.rpartition(":")[2] for one in found}
    environ = member.latest(Environ)
    port = environ.values.get("MASTER_PORT", "") if environ else ""
    members = tuple(members)
    if port in ports and any(one.latest(StoreKeys) is not None for one in members):
        return True
    ends = {one.peer_inode for one in found if one.peer_inode}
    return bool(ends) and any(_serves_store(one, ends) for one in members if one.ref.host == member.ref.host)


def _serves_store(member: Member, ends: Container[int]) -> bool:
    """Whether the thread of a store in this process waits for what comes over one of these sockets."""
    blocked, files, kernel = member.latest(Blocked), member.latest(OpenFiles), member.latest(Threads)
    servers = {task.tid for task in kernel.threads if task.comm.startswith(_SERVER)} if kernel else set()
    if not servers or blocked is None or files is None:
        return False
    fds = {one.fd for one in files.files if inode_of(one.target) in ends}
    return any(fds & set(call.fds) for call in blocked.calls if call.tid in servers)
