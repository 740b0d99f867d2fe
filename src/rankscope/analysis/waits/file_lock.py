"""A process that waits for flock or fcntl waits for the process that /proc/locks names as the holder; and so does one that pauses
in the job's code, gets no further, and has a file open which another process of the job has locked, or that polls for a lock file
which another one has open."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.evidence.lock_files import LockFiles
from ...model.process import ProcessRef
from ..frame_tables import WaitKind
from ..progress import advances
from ..scene import Scene
from ..standing import Standing

POLLS = (WaitKind.FILE_LOCK, WaitKind.FILE_BATON)


def find(scene: Scene) -> Iterator[Wait]:
    for standing in scene.standings.values():
        yield from _by_name(scene, standing)
        blocked = standing.member.latest(Blocked)
        for lock in blocked.locks if blocked else ():
            if lock.asked and not _polls(standing):
                continue
            if not lock.holders:
                yield Wait(standing.member.ref, None, f"the {lock.kind} lock on {lock.path}", standing.still_s)
            for pid in lock.holders:
                holder = scene.by_pid.get((standing.member.ref.host, pid), ProcessRef(standing.member.ref.host, pid))
                if holder != standing.member.ref and (holder in scene.members or not lock.asked):
                    yield Wait(standing.member.ref, holder, f"the {lock.kind} lock on {lock.path}", standing.still_s)


def _by_name(scene: Scene, standing: Standing) -> Iterator[Wait]:
    """Who polls for a lock file that its stack names waits for the other processes of the job that have this file open, and do
    not just ask for it as well."""
    found = standing.member.latest(LockFiles) if standing.kind in POLLS else None
    for file in found.files if found else ():
        for pid in file.holders:
            ref = scene.by_pid.get((standing.member.ref.host, pid))
            holder = scene.standings.get(ref) if ref is not None else None
            if holder is not None and holder is not standing and not _asks_for(holder, file.path):
                yield Wait(standing.member.ref, holder.member.ref, f"the lock file {file.path}", standing.still_s)


def _asks_for(standing: Standing, path: str) -> bool:
    """Whether it polls for this lock file, or for one that nothing names: it opens it each time it asks."""
    found = standing.member.latest(LockFiles)
    return standing.kind in POLLS and (found is None or path in {file.path for file in found.files})


def _polls(standing: Standing) -> bool:
    """Whether it wakes now and then in the job's own code and gets no further."""
    return standing.kind is WaitKind.SLEEP and bool(standing.ran) and not advances(standing)
