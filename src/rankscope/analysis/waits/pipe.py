"""A process blocked on a pipe or a socket pair waits for the process that holds the other end."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.files import OpenFiles
from ...model.process import ProcessRef, Role
from ..frame_tables import Kind
from ..scene import Scene
from ..standing import Standing

_PIPE_WCHAN = ("pipe_read", "anon_pipe_read", "pipe_write", "anon_pipe_write", "pipe_wait")


def find(scene: Scene) -> Iterator[Wait]:
    holders = _holders(scene)
    for standing in scene.standings.values():
        target = _blocked_on(standing)
        if target is None or standing.member.role is Role.HELPER:
            continue
        for ref in holders.get((standing.member.ref.host, target), ()):
            if ref != standing.member.ref and scene.members[ref].role is not Role.HELPER:
                yield Wait(standing.member.ref, ref, f"the other end of {target}", standing.still_s)


def _blocked_on(standing: Standing) -> str | None:
    """The pipe of the descriptor that a blocked read or write names (its first argument), None when it is none."""
    if (
        standing.kernel is None
        or not standing.kernel.wchan.startswith(_PIPE_WCHAN)
        or standing.kind in (Kind.DATA, Kind.IDLE)
    ):
        return None
    call = standing.kernel.syscall
    files = standing.member.latest(OpenFiles)
    if len(call) < 2 or files is None:
        return None
    return next((f.target for f in files.files if f.fd == call[1] and f.target.startswith("pipe:")), None)


def _holders(scene: Scene) -> dict[tuple[str, str], list[ProcessRef]]:
    """Who holds each pipe, by host and inode."""
    found: dict[tuple[str, str], list[ProcessRef]] = {}
    for ref, member in scene.members.items():
        files = member.latest(OpenFiles)
        for target in {f.target for f in files.files if f.target.startswith("pipe:")} if files else ():
            found.setdefault((ref.host, target), []).append(ref)
    return found
