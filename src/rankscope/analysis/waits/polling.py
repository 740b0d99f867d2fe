"""Ranks that ask again and again at one place of the job's code wait for those that stand still elsewhere.

What they ask (a counter in a store, a file, a flag in shared memory) nothing shows; that most ranks ask it at the same place,
get no further, and nobody else moves tells that they wait for the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..load import RUNS
from ..progress import advances
from ..scene import Scene
from ..standing import Standing

_ASKS = {WaitKind.SLEEP, WaitKind.USER, WaitKind.LIBRARY, WaitKind.STORE, WaitKind.SOCKET}
# Where somebody stands who waits for no rank that polls.
_STANDS = {
    WaitKind.CONDITION,
    WaitKind.LOCK,
    WaitKind.QUEUE,
    WaitKind.CHILD,
    WaitKind.SLEEP,
    WaitKind.INPUT,
    WaitKind.USER,
    WaitKind.LIBRARY,
    WaitKind.PIPE,
}


def find(scene: Scene) -> Iterator[Wait | Share]:
    ranks = [one for one in scene.of_role(Role.RANK) if not one.member.gone and one.member.rank is not None]
    askers = [one for one in ranks if _asks(one)]
    still = [one for one in ranks if _stands(one)]
    places = {tuple((file, function) for file, function, _ in one.site) for one in askers}
    together = len(places) == 1 and len(askers) + len(still) == len(ranks) and len(askers) > len(still)
    crowd = Crowd(tuple(one.member.ref for one in still))
    for asker in askers if together else ():
        frame = asker.user_frame
        place = f"{frame.function} ({frame.file.rsplit('/', 1)[-1]}:{frame.line})" if frame is not None else "one place"
        yield from for_all(asker.member.ref, crowd, f"what is asked for again and again in {place}", None)


def _asks(standing: Standing) -> bool:
    """Whether it runs now and then at one place of the job's code and gets no further."""
    polls = bool(standing.ran) and standing.busy < RUNS and standing.kind in _ASKS and standing.wait.user >= 0
    return polls and not advances(standing)


def _stands(standing: Standing) -> bool:
    return standing.ran is False and standing.kind in _STANDS and standing.wait.user >= 0 and not advances(standing)
