"""Who waits at a barrier of multiprocessing waits for its siblings at the same work that have not come.

A barrier does not tell who its parties are. They are taken to be the children of one parent that began in the same function of
the program; children at other work, such as a writer of logs, are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...model.diagnosis import Wait
from ..crowd import Crowd, Share, for_all
from ..identity import name_of
from ..origin import is_user
from ..scene import Scene
from ..standing import Standing

# multiprocessing's barrier is that of threading, over a condition that processes share.
_BARRIER, _SHARED = ("threading.py", "wait"), ("multiprocessing/synchronize.py", "wait")


def find(scene: Scene) -> Iterator[Wait | Share]:
    families: dict[tuple[str, int], list[Standing]] = defaultdict(list)
    for standing in filter(at_barrier, scene.standings.values()):
        families[standing.member.ref.host, standing.member.process.parent].append(standing)
    for (host, parent), come in families.items():
        work = {_work(one) for one in come} - {None}
        others = (one for one in scene.children_of(parent, host) if not one.member.gone and one.state not in ("Z", "X"))
        late = Crowd(tuple(one.member.ref for one in others if not at_barrier(one) and _work(one) in work))
        for one in come if late.refs else ():
            yield from for_all(
                one.member.ref, late, "a barrier of processes, to which that one has not come", one.still_s
            )


def _work(standing: Standing) -> tuple[str, str] | None:
    """The function of the program in which a process began."""
    began = (frame for frame in standing.own_stack if is_user(frame) and frame.function != "<module>")
    return next(((frame.file, frame.function) for frame in began), None)


def at_barrier(standing: Standing) -> bool:
    """Whether a process stands at a barrier of multiprocessing."""
    stack = standing.own_stack
    if standing.member.gone or not stack or name_of(stack[-1]) != _SHARED:
        return False  # most of a large job: one frame of each is enough to see that
    return _BARRIER in map(name_of, stack[standing.wait.user + 1 :])
