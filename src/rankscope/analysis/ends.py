"""Who holds the other ends: of pipes, of unix sockets and of TCP connections, among the members of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..model.evidence.files import OpenFiles
from ..model.evidence.sockets import Socket, Sockets, inode_of
from ..model.process import ProcessRef
from .callers import call_of
from .case import Member
from .remembered import remembered
from .scene import Scene
from .standing import Standing


@dataclass(frozen=True)
class Ends:
    """Holders of each pipe end by (host, pipe, r or w), of each socket by (host, inode), and by both addresses."""

    pipes: dict[tuple[str, str, str], list[ProcessRef]]
    sockets: dict[tuple[str, int], list[ProcessRef]]
    pairs: dict[tuple[str, str], list[ProcessRef]]

    def of_peer(self, host: str, target: Socket) -> Sequence[ProcessRef]:
        """Who has the other end of a connection."""
        return self.sockets.get((host, target.peer_inode), ()) or self.pairs.get((target.peer, target.local), ())


@remembered
def ends(scene: Scene) -> Ends:
    """The ends that the members of a scene have open."""
    return Ends(_pipes(scene), _sockets(scene), _by_addresses(scene))


# What is a pipe by its name, and what may be one: a FIFO is told from other files by the place in which its reader sleeps.
_PIPES = ("pipe:", "/")
_IN_PIPE = ("pipe_read", "anon_pipe_read", "pipe_wait", "pipe_write", "anon_pipe_write")  # wait channels, Linux 5.x–6.x


def _pipes(scene: Scene) -> dict[tuple[str, str, str], list[ProcessRef]]:
    found: dict[tuple[str, str, str], list[ProcessRef]] = {}
    for ref, member in scene.members.items():
        files = member.latest(OpenFiles)
        held = (
            {(one.target, end) for one in files.files if one.target.startswith(_PIPES) for end in one.mode}
            if files
            else ()
        )
        for target, end in held:
            found.setdefault((ref.host, target, end), []).append(ref)
    return found


def _sockets(scene: Scene) -> dict[tuple[str, int], list[ProcessRef]]:
    found: dict[tuple[str, int], list[ProcessRef]] = {}
    for ref, member in scene.members.items():
        files = member.latest(OpenFiles)
        for one in files.files if files else ():
            if inode := inode_of(one.target):
                found.setdefault((ref.host, inode), []).append(ref)
    return found


def _by_addresses(scene: Scene) -> dict[tuple[str, str], list[ProcessRef]]:
    """Who has a TCP socket with this (local, peer) pair; loopback addresses mean something on one host only."""
    found: dict[tuple[str, str], list[ProcessRef]] = {}
    for ref, member in scene.members.items():
        sockets = member.latest(Sockets)
        for one in sockets.sockets if sockets else ():
            if one.kind == "tcp" and one.peer and not one.peer.startswith(("127.", "[::1]")):
                found.setdefault((one.local, one.peer), []).append(ref)
    return found


def targets(member: Member, fds: Iterable[int]) -> Iterator[tuple[int, Socket | str]]:
    """Descriptors with what they point to: a connection, or a pipe by its name; others are left out."""
    files, found = member.latest(OpenFiles), member.latest(Sockets)
    names = {one.fd: one.target for one in files.files} if files else {}
    known = {one.inode: one for one in found.sockets if one.inode} if found else {}
    for fd in fds:
        name = names.get(fd, "")
        if name.startswith("pipe:["):
            yield fd, name
        elif inode_of(name) in known:
            yield fd, known[inode_of(name)]


def fifo(standing: Standing) -> str:
    """The path of the FIFO in which the deciding thread reads or writes, empty where it does not; its name must still be its."""
    call, files = call_of(standing), standing.member.latest(OpenFiles)
    if call is None or files is None or len(call.fds) != 1 or standing.kernel is None:
        return ""
    name = next((one.target for one in files.files if one.fd == call.fds[0]), "")
    inside = standing.kernel.wchan.startswith(_IN_PIPE)
    return name if inside and name.startswith("/") and not name.endswith(" (deleted)") else ""


_WRITES = ("write", "writev")


def written(standing: Standing) -> str:
    """The pipe in a write to which the deciding thread is blocked, empty where it is not."""
    call = call_of(standing)
    if call is None or call.call not in _WRITES:
        return ""
    return next((one for _, one in targets(standing.member, call.fds) if isinstance(one, str)), "")


def other_end(target: Socket | str) -> str:
    """Who or what is at the other end, in words."""
    if isinstance(target, str):
        return f"the other end of {'the FIFO ' if target.startswith('/') else ''}{target}"
    return f"its peer on {target.kind} {target.local} → {target.peer}" if target.peer else f"its {target.kind} peer"


def holds(member: Member, pipe: str, end: str) -> bool:
    """Whether a process has the end of a pipe open that reads (``r``) or writes (``w``)."""
    files = member.latest(OpenFiles)
    return files is not None and any(one.target == pipe and end in one.mode for one in files.files)


def writable(member: Member) -> frozenset[str]:
    """The names of all that a process could write to; none where its descriptors are unknown."""
    files = member.latest(OpenFiles)
    return frozenset(one.target for one in files.files if "w" in one.mode) if files else frozenset()


def seen_beyond(target: Socket | str) -> str:
    """The name that what ``targets`` gives has for whoever has the other end."""
    return f"socket:[{target.peer_inode}]" if isinstance(target, Socket) else target


def eldest(scene: Scene, holders: Sequence[ProcessRef]) -> list[ProcessRef]:
    """Without those that inherited the socket from another holder: a pool's workers have copies of all their parent's."""
    return [ref for ref in holders if parent(scene, ref) not in holders]


def parent(scene: Scene, ref: ProcessRef) -> ProcessRef | None:
    """The process that started this one, where it is of the job."""
    return scene.by_pid.get((ref.host, scene.members[ref].process.parent))


def ancestors(scene: Scene, ref: ProcessRef) -> set[ProcessRef]:
    """A process's parent, its parent, and so on, inside the job."""
    found: set[ProcessRef] = set()
    at: ProcessRef | None = ref
    while at is not None and at not in found:
        found.add(at)
        at = parent(scene, at)
    return found - {ref}
