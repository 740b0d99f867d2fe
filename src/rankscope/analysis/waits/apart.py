"""Ranks that all sleep in one kind of wait wait for the few that sleep in another, where no stack can be read.

What ranks do together they wait for alike: in a lock or condition of a library's threads, or on connections to each other. One
that sleeps on the clock, a pipe, a child or a file meanwhile has not come there. An event loop tells nothing: servers idle so.
Where most nap again and again without computing, they ask for what those that sleep through should bring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..awaited import hidden, slept
from ..crowd import Crowd, Share, for_all
from ..frame_tables import WaitKind
from ..in_sight import unclear
from ..scene import Scene
from ..standing import Standing

_FEWEST = 3
_TOGETHER = (WaitKind.LOCK, WaitKind.SOCKET, WaitKind.SLEEP)
_LOOPS = ("ep_poll", "do_epoll_wait")


def find(scene: Scene) -> Iterator[Wait | Share]:
    ranks = [one for one in scene.of_role(Role.RANK) if one.member.rank is not None and not one.member.gone]
    if len(ranks) < _FEWEST or any(one.thread is not None or not hidden(one.member) for one in ranks):
        return
    ways = {one.member.ref: _way(one) for one in ranks}
    usual, count = Counter(ways.values()).most_common(1)[0]
    if usual[0] not in _TOGETHER or 2 * count <= len(ranks) or count == len(ranks):
        return
    alike = [one for one in ranks if ways[one.member.ref] == usual]
    others = [one for one in ranks if ways[one.member.ref] != usual and not _serves(one)]
    if usual[0] is WaitKind.SLEEP:
        # Who naps again and again asks for something: of those that have not moved at all.
        if not all(map(unclear, alike)) or not all(map(_sleeps, others)):
            return
    elif not all(map(_sleeps, alike)):
        return
    crowd = Crowd(tuple(other.member.ref for other in others))
    for one in alike:
        yield from for_all(one.member.ref, crowd, "what the ranks do together, as it seems", one.still_s)


def _sleeps(standing: Standing) -> bool:
    return slept(standing.member, standing.kernel)


def _way(standing: Standing) -> tuple[WaitKind, bool]:
    """What its main thread sleeps in; reading one connection and looking at many are two ways."""
    channel = standing.kernel.wchan if standing.kernel else ""
    return standing.kind, standing.kind is WaitKind.SOCKET and "poll" in channel


def _serves(standing: Standing) -> bool:
    return standing.kernel is not None and standing.kernel.wchan.startswith(_LOOPS)
