"""A process whose system calls we may not see waits for those who hold the other ends of what it can only be waiting on.

Of several that fit, each is a possible way: in a circle of ranks that all read from each other, the one way that leads out
of it is where the circle waits. A thread beside the main one counts where it stands in a write: nobody takes what it has.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.may_wait import OpenWait
from ...model.evidence.outsiders import Outsiders
from ...model.evidence.sockets import Socket
from ...model.evidence.threads import Threads
from ...model.process import ProcessRef, Role
from ..awaited import open_waits, slept, terminal
from ..ends import Ends, ancestors, eldest, ends, holds, other_end, targets
from ..frame_tables import WaitKind
from ..scene import Scene
from ..standing import Standing, idle_worker


def find(scene: Scene) -> Iterator[Wait]:
    blind = [one for one in scene.standings.values() if one.thread is None and one.member.role is not Role.HELPER]
    waiting = [(one, wait) for one in blind for wait in _waits(one)]
    for standing in blind:
        yield from _halted_children(scene, standing)
    held = ends(scene) if waiting else None
    for standing, wait in waiting:
        if held is not None and not _at_terminal(scene, standing):
            yield from _edges(scene, held, standing, wait)


def _halted_children(scene: Scene, standing: Standing) -> Iterator[Wait]:
    """Who sleeps in a lock, as a pool's parent does, waits for its child that a file system or a stop holds, as it seems."""
    if standing.kind is not WaitKind.LOCK or not slept(standing.member, standing.kernel):
        return
    for child in scene.children_of(standing.member.ref.pid, standing.member.ref.host):
        if child.member.role is Role.OTHER and child.state in ("D", "T", "t") and not child.ran:
            yield Wait(standing.member.ref, child.member.ref, "perhaps what this child should bring", standing.still_s)


def _waits(standing: Standing) -> Iterator[OpenWait]:
    """What its main thread may wait on, and what others write to, where they slept through all looks."""
    kernel = standing.member.latest(Threads)
    found = open_waits(standing.member)
    for task in kernel.threads if kernel and found else ():
        wait = found.get(task.tid)
        minds = standing.member.role is Role.LAUNCHER or task.tid != standing.member.ref.pid
        if wait is not None and (wait.writes or not minds) and slept(standing.member, task):
            yield wait


def _at_terminal(scene: Scene, standing: Standing) -> bool:
    """Whether it is the one rank that may be reading from a terminal: those of one shell have theirs in common."""
    mine = terminal(standing.member)
    others = {terminal(one.member) for one in scene.of_role(Role.RANK) if one is not standing}
    return bool(mine) and bool(others) and others == {""}


def _edges(scene: Scene, held: Ends, standing: Standing, wait: OpenWait) -> Iterator[Wait]:
    ref, member = standing.member.ref, standing.member
    sole = len(wait.fds) == 1
    for fd, target in targets(member, wait.fds):
        holders = _peers(held, ref, wait, target)
        if isinstance(target, Socket) and ref in holders:
            continue  # both ends are its own: what it writes itself wakes it
        inside = list(_awaited(scene, standing, wait, target, holders))
        if not sole and isinstance(target, str):
            inside = [one for one in inside if not holds(scene.members[one], target, "w" if wait.writes else "r")]
        for other in inside or ([] if holders else _outside(scene, standing, fd)):
            yield Wait(ref, other, other_end(target) if sole else f"perhaps {other_end(target)}", standing.still_s)


def _peers(held: Ends, ref: ProcessRef, wait: OpenWait, target: Socket | str) -> list[ProcessRef]:
    """The members that hold the other end, its own process with them."""
    if isinstance(target, Socket):
        return list(held.of_peer(ref.host, target))
    return list(held.pipes.get((ref.host, target, "r" if wait.writes else "w"), ()))


def _awaited(
    scene: Scene, standing: Standing, wait: OpenWait, target: Socket | str, holders: list[ProcessRef]
) -> Iterator[ProcessRef]:
    """Those at the other end for whom it may wait: not who only inherited it, serves it aside, or has nothing to do."""
    ref, member = standing.member.ref, standing.member
    if isinstance(target, Socket):
        holders = [one for one in eldest(scene, holders) if not _aside(scene, one, target)]
    above = ancestors(scene, ref) if not wait.writes and member.role is not Role.RANK else set()
    for other in holders:
        role = scene.members[other].role
        # Who reads from its parent waits for work; and a launcher minds its ranks.
        if role is Role.HELPER or other in above or other == ref or (role is Role.LAUNCHER and not wait.writes):
            continue
        if not idle_worker(scene.standings[other]):
            yield other


def _aside(scene: Scene, other: ProcessRef, target: Socket) -> bool:
    """Whether another thread of the peer than its main one reads this connection: a store or server that runs in it."""
    member = scene.members[other]
    inodes = {fd: one.inode for wait in open_waits(member).values() for fd, one in targets(member, wait.fds)
              if isinstance(one, Socket)}  # fmt: skip
    return any(
        wait.tid != other.pid
        and not wait.writes
        and (wait.many or len(wait.fds) == 1)
        and any(inodes.get(fd) == target.peer_inode for fd in wait.fds)
        for wait in open_waits(member).values()
    )


def _outside(scene: Scene, standing: Standing, fd: int) -> Iterator[ProcessRef]:
    """Processes beside the job at the other end; a child that was started meanwhile is none."""
    found = standing.member.latest(Outsiders)
    ours = scene.by_pid
    host = standing.member.ref.host
    yield from (ProcessRef(host, one.pid) for one in (found.found if found else ())
                if one.fd == fd and (host, one.pid) not in ours and (host, one.parent) not in ours)  # fmt: skip
