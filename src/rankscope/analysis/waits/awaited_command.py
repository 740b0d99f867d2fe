"""A task of an event loop awaits the end of a command, and the command waits until that loop reads what it has written.

A loop stops reading when its stream is full (asyncio/streams.py, twice the limit of 64 KiB), until a task takes something from
it; one that awaits the end first never does. The loop then watches other descriptors than this pipe.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ..callers import call_of
from ..ends import ends, other_end, targets, written
from ..frame_tables import WaitKind
from ..identity import name_of
from ..loop_tasks import last_awaited, loops
from ..scene import Scene
from ..standing import Standing

_ENDS = (("asyncio/base_subprocess.py", "_wait"), ("asyncio/subprocess.py", "wait"))


def find(scene: Scene) -> Iterator[Wait]:
    awaiting = [one for one in scene.standings.values() if one.kind is WaitKind.IDLE and _awaits_an_end(one)]
    held = ends(scene) if awaiting else None
    for standing in awaiting:
        ref = standing.member.ref
        for child in scene.children_of(ref.pid, ref.host):
            pipe = written(child)
            if held and pipe and held.pipes.get((ref.host, pipe, "r")) == [ref] and not _watches(standing, pipe):
                yield Wait(ref, child.member.ref, "the end of this command", standing.still_s)
                yield Wait(child.member.ref, ref, other_end(pipe), child.still_s)


def _awaits_an_end(standing: Standing) -> bool:
    tasks = [view for loop in loops(standing.member) for view in last_awaited(loop)]
    return any(name_of(one) in _ENDS for view in tasks for one in view.task.stack[-1:])


def _watches(standing: Standing, pipe: str) -> bool:
    call = call_of(standing)
    return call is None or pipe in [one for _, one in targets(standing.member, call.fds)]
