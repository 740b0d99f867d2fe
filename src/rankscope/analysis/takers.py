"""Who takes from a queue of multiprocessing beside others: a process that waits for the next item itself puts none in.

All children of the process that made a queue inherit both ends of its pipe. Of those that take from it one reads the pipe, and
holds the lock for reading meanwhile; the others wait for that lock (Lib/multiprocessing/queues.py).
"""

from __future__ import annotations

from ..model.evidence.stacks import Frame
from .callers import call_of
from .ends import ancestors, holds, targets
from .frame_tables import WaitKind
from .identity import name_of
from .scene import Scene
from .standing import Standing

_GET = ("multiprocessing/queues.py", "get")
_CONNECTION = "multiprocessing/connection.py"


def takes_beside(scene: Scene, reader: Standing, other: Standing, pipe: str) -> bool:
    """Whether a process that has the writing end of a pipe only waits for the next item, as the reader of the pipe does, or
    beside a reader that a server without requests may write to."""
    inner = below_get(other)
    if inner is None or below_get(reader) is None:
        return inner is not None and _served(scene, reader, other, pipe)
    if pipe in _reads(other):
        return True
    if other.site != reader.site:
        return False
    awaits_lock = all(name_of(frame)[0] != _CONNECTION for frame in inner)
    return awaits_lock or _served(scene, reader, other, pipe)


def taking_at(standing: Standing) -> tuple[tuple[str, str, int], ...]:
    """Where it takes from a queue: its frames above the ``get`` in which the job's own code, or a worker's loop, stands; empty
    where it is in none."""
    inner = below_get(standing)
    above = standing.own_stack[: -len(inner) - 1] if inner is not None else ()
    return tuple((frame.file, frame.function, frame.line) for frame in above)


def below_get(standing: Standing) -> tuple[Frame, ...] | None:
    """The frames below the ``get`` of a queue in which the job's own code stands, None where it is in none."""
    frames = standing.own_stack[standing.wait.user + 1 :]
    at = next((index for index, frame in enumerate(frames) if name_of(frame) == _GET), None)
    return None if at is None else tuple(frames[at + 1 :])


def _reads(standing: Standing) -> set[object]:
    call = call_of(standing)
    return {target for _, target in targets(standing.member, call.fds)} if call is not None else set()


def _served(scene: Scene, reader: Standing, other: Standing, pipe: str) -> bool:
    """Whether both are children of a server without requests, each with a pipe of its own: a common parent can fill this one and
    waits in its event loop."""
    common = ancestors(scene, reader.member.ref) & ancestors(scene, other.member.ref)
    parents = (scene.standings[ref] for ref in common if holds(scene.members[ref], pipe, "w"))
    return any(one.kind is WaitKind.IDLE for one in parents)
