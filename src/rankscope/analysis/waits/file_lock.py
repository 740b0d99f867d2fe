"""A process that waits for flock or fcntl waits for the process that /proc/locks names as the holder; and so does one that pauses
in the job's code, gets no further, and has a file open which another process of the job has locked."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.process import ProcessRef
from ..frame_tables import Kind
from ..progress import advances
from ..scene import Scene
from ..standing import Standing


def find(scene: Scene) -> Iterator[Wait]:
    by_pid = {(ref.host, ref.pid): ref for ref in scene.members}
    for standing in scene.standings.values():
        blocked = standing.member.latest(Blocked)
        for lock in blocked.locks if blocked else ():
            if lock.asked and not _polls(standing):
                continue
            for pid in lock.holders:
                holder = by_pid.get((standing.member.ref.host, pid), ProcessRef(standing.member.ref.host, pid))
                if holder != standing.member.ref and (holder in scene.members or not lock.asked):
                    yield Wait(standing.member.ref, holder, f"the {lock.kind} lock on {lock.path}", standing.still_s)


def _polls(standing: Standing) -> bool:
    """Whether it wakes now and then in the job's own code and gets no further."""
    return standing.kind is Kind.SLEEP and bool(standing.ran) and not advances(standing)
