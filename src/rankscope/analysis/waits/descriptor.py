"""A process blocked on a pipe or a socket waits for the process that holds the other end.

Pipe ends share an inode, those of a FIFO a path; sockets of one host name each other's; sockets of two hosts are matched by
their four addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.evidence.files import OpenFiles
from ...model.evidence.sockets import Socket
from ...model.process import ProcessRef, Role
from ..answering import ASKS, asking_instead, kept_from_answering
from ..callers import call_of
from ..ends import Ends, ancestors, eldest, ends, fifo, other_end, targets
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing, idle_worker
from ..takers import takes_beside
from ..threads import nobody_acts

# Where the frames already say whom a process waits for, its descriptors only blur it.
_SAID = {
    WaitKind.COLLECTIVE,
    WaitKind.BACKWARD,
    WaitKind.DATA,
    WaitKind.IDLE,
    WaitKind.STORE,
    WaitKind.RENDEZVOUS,
    WaitKind.COMPILE,
}
# Waiting on many descriptors at once is what servers and agents do all day.
_MAX_FDS = 8
_READS = ("read", "recv", "poll", "ppoll", "epoll", "select", "pselect")


def find(scene: Scene) -> Iterator[Wait]:
    held = ends(scene)
    for standing in _standings(scene):
        ref = standing.member.ref
        if standing.kind in _SAID or standing.member.role is Role.HELPER or idle_worker(standing):
            continue
        for target in _blocked_on(standing):
            if isinstance(target, Socket):
                peers = _peers(scene, ref, target, held.of_peer(ref.host, target))
                others = [one for one in peers if not _listens_aside(scene.standings.get(one), target)]
            else:
                others = held.pipes.get((ref.host, target, _wanted(standing)), [])
                if standing.member.role is Role.LAUNCHER:
                    others = eldest(scene, others)  # it awaits the end of these, by pipes that their children inherit
            servant = _wanted(standing) == "w" and standing.member.role is not Role.RANK
            for other in others:
                if _serves(scene, other) or _both_mind(scene, standing, other):
                    continue
                if servant and other in ancestors(scene, ref) and not _reads_back(scene, held, other, standing):
                    continue  # a child that reads from its parent waits for work, not for a result
                if isinstance(target, str) and takes_beside(scene, standing, scene.standings[other], target):
                    continue  # nor for another one that waits for work
                if (
                    other != ref
                    and not _answers(scene.standings.get(other))
                    and not _shared(scene, standing, other, target)
                ):
                    yield Wait(ref, other, other_end(target), standing.still_s)


def _standings(scene: Scene) -> Iterator[Standing]:
    """How everybody stands, and how those threads of servers do that make a call of their own while they answer one, and those
    for which the deciding thread waits."""
    for standing in scene.standings.values():
        yield standing
        yield from (one for one in kept_from_answering(standing.member) if one.kind in ASKS)
        yield from asking_instead(standing)


def _reads_back(scene: Scene, held: Ends, other: ProcessRef, standing: Standing) -> bool:
    """Whether the parent itself waits for what only this child of it could write, and neither has a thread that could."""
    parent = scene.standings[other]
    for one in (parent, standing):
        call, alone = call_of(one), one.thread is not None and nobody_acts(one.member, one.thread)
        if call is None or call.timed or len(call.fds) != 1 or not call.call.startswith(_READS) or not alone:
            return False
    ref = standing.member.ref
    found = (
        held.of_peer(ref.host, one) if isinstance(one, Socket) else held.pipes.get((ref.host, one, "w"), ())
        for one in _blocked_on(parent)
    )
    return any(ref in holders for holders in found)


def _peers(scene: Scene, ref: ProcessRef, target: Socket, holders: Sequence[ProcessRef]) -> list[ProcessRef]:
    """Who uses the other end of a socket: who reads from it; of a pair that its maker has kept whole, the one to whom it gave
    an end."""
    given = [one for one in holders if one != ref]
    reading = [one for one in given if _uses(scene.standings[one], target)]
    if len(reading) == 1:
        return reading
    return given if len(given) == 1 else eldest(scene, holders)


def _uses(other: Standing, target: Socket) -> bool:
    """Whether its deciding thread waits on the very end that is the other one of this connection."""
    return any(isinstance(one, Socket) and one.inode == target.peer_inode for one in _blocked_on(other))


def _blocked_on(standing: Standing) -> Iterator[Socket | str]:
    blocked = standing.member.latest(Blocked)
    if blocked is None or standing.kernel is None:
        return
    call = next((call for call in blocked.calls if call.tid == standing.kernel.tid), None)
    if call is None or not call.fds or len(call.fds) > _MAX_FDS:
        return
    yield from (target for _, target in targets(standing.member, call.fds))
    if named := fifo(standing):
        yield named


def _shared(scene: Scene, standing: Standing, other: ProcessRef, target: Socket | str) -> bool:
    """Whether the other process is a forked child that merely inherited this end (it has both, or our own socket)."""
    if isinstance(target, str):
        parent = scene.members[other].process.parent == standing.member.ref.pid
        inherited = standing.member.process.parent == other.pid
        return (parent or inherited) and scene.standings[other].kind in (
            WaitKind.COLLECTIVE,
            WaitKind.BACKWARD,
            WaitKind.IDLE,
        )
    return False


def _serves(scene: Scene, other: ProcessRef) -> bool:
    """Whether the other end is a launcher that minds its ranks: its store answers, so nobody waits for it but for a key."""
    standing = scene.standings.get(other)
    minds = standing is not None and standing.member.role is Role.LAUNCHER and standing.kind is WaitKind.CHILD
    return minds and standing is not None and bool(standing.ran) and standing.state not in ("T", "t", "D")


def _answers(other: Standing | None) -> bool:
    """Whether it is a helper of a library, which does what it is asked unless somebody stopped it."""
    return other is not None and other.member.role is Role.HELPER and other.state not in ("T", "t")


def _both_mind(scene: Scene, standing: Standing, other: ProcessRef) -> bool:
    """Whether these are launchers of two hosts: they keep a connection for what may come, and nobody waits for anything."""
    return standing.member.role is Role.LAUNCHER and scene.members[other].role is Role.LAUNCHER


def _listens_aside(other: Standing | None, target: Socket) -> bool:
    """Whether a thread of the peer other than its deciding one waits to read from this connection: a store or server that
    runs in a rank. It is the asker's turn there, whatever the rank itself does."""
    if other is None or other.kernel is None or other.state in ("T", "t", "D"):
        return False
    blocked, files = other.member.latest(Blocked), other.member.latest(OpenFiles)
    wanted = f"socket:[{target.peer_inode}]"
    fds = {one.fd for one in files.files if one.target == wanted} if files and target.peer_inode else set()
    calls = blocked.calls if blocked else ()
    return any(fds & set(call.fds) for call in calls if call.tid != other.kernel.tid and call.call.startswith(_READS))


def _wanted(standing: Standing) -> str:
    """Which end the other side must hold: who reads waits for a writer."""
    blocked = standing.member.latest(Blocked)
    call = (
        next((c for c in blocked.calls if standing.kernel and c.tid == standing.kernel.tid), None) if blocked else None
    )
    return "r" if call is not None and call.call.startswith(("write", "send")) else "w"
