"""A parent in wait4 or join waits for its child; the system call names which one, else it is any that still lives."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..frame_tables import Kind
from ..scene import Scene
from ..standing import Standing, idle_worker

# wait4 and waitid by architecture (syscall(2) tables); the pid is the first, respectively the second argument.
_WAIT4 = {"x86_64": 61, "aarch64": 260}.get(platform.machine(), 61)
_WAITID = {"x86_64": 247, "aarch64": 95}.get(platform.machine(), 247)


def find(scene: Scene) -> Iterator[Wait]:
    for standing in scene.standings.values():
        if standing.kind is not Kind.CHILD:
            continue
        minds = standing.member.role is Role.LAUNCHER  # watching its ranks is its work, not a wait
        children = [child for child in scene.children_of(standing.member.ref.pid, standing.member.ref.host)
                    if child.member.role is not Role.HELPER]  # fmt: skip
        named = _named(standing)
        for child in children:
            if named is None or child.member.ref.pid == named:
                if (named is None and idle_worker(child)) or (minds and child.member.role is Role.RANK):
                    continue
                yield Wait(standing.member.ref, child.member.ref, "the end of this child process", standing.still_s)


def _named(standing: Standing) -> int | None:
    """The pid that the system call waits for, None for any or unknown."""
    call = standing.kernel.syscall if standing.kernel else ()
    if len(call) >= 3 and call[0] == _WAIT4 and 0 < call[1] < 1 << 31:
        return call[1]
    if len(call) >= 3 and call[0] == _WAITID and call[1] == 1:
        return call[2]
    return None
