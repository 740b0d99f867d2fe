"""A process that waits for flock or fcntl waits for the process that /proc/locks names as the holder."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.evidence.blocked import Blocked
from ...model.process import ProcessRef
from ..scene import Scene


def find(scene: Scene) -> Iterator[Wait]:
    by_pid = {(ref.host, ref.pid): ref for ref in scene.members}
    for standing in scene.standings.values():
        blocked = standing.member.latest(Blocked)
        for lock in blocked.locks if blocked else ():
            for pid in lock.holders:
                holder = by_pid.get((standing.member.ref.host, pid), ProcessRef(standing.member.ref.host, pid))
                if holder != standing.member.ref:
                    yield Wait(standing.member.ref, holder, f"the {lock.kind} lock on {lock.path}", standing.still_s)
