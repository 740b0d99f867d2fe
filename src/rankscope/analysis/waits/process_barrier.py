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

_BARRIER = (("threading.py", "wait"), ("multiprocessing/synchronize.py", "wait"))


def find(scene: Scene) -> Iterator[Wait | Share]:
    families: dict[tuple[object, ...], list[Standing]] = defaultdict(list)
    for standing in scene.standings.values():
        work = _work(standing)
        if work is not None and not standing.member.gone and standing.state not in ("Z", "X"):
            families[standing.member.ref.host, standing.member.process.parent, work].append(standing)
    for family in families.values():
        come = [one for one in family if _at_barrier(one)]
        late = Crowd(tuple(one.member.ref for one in family if one not in come)) if come else Crowd(())
        for one in come if late.refs else ():
            yield from for_all(
                one.member.ref, late, "a barrier of processes, to which that one has not come", one.still_s
            )


def _work(standing: Standing) -> tuple[str, str] | None:
    """The function of the program in which a process began."""
    return next(
        (
            (frame.file, frame.function)
            for frame in standing.own_stack
            if is_user(frame) and frame.function != "<module>"
        ),
        None,
    )


def _at_barrier(standing: Standing) -> bool:
    inner = set(map(name_of, standing.own_stack[standing.wait.user + 1 :]))
    return inner.issuperset(_BARRIER)
