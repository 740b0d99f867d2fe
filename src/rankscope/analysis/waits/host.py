"""Ranks in a collective that nobody who was seen holds up wait for the hosts that do not answer.

Where recorders name the ranks that are missing, those edges are there already and this adds none.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..crowd import Crowd, Share, for_all
from ..scene import Scene
from .collective import arrived, what


def find(scene: Scene) -> Iterator[Wait | Share]:
    ranks = [standing for standing in scene.of_role(Role.RANK) if standing.member.rank is not None]
    if not scene.away or scene.missing or not all(arrived(standing) for standing in ranks):
        return
    hosts = Crowd(tuple(host.ref for host in [one for one in scene.away if one.ranks] or scene.away))
    for standing in ranks:
        if standing.member.rank not in scene.rank_edges:
            yield from for_all(standing.member.ref, hosts, what(standing), standing.still_s)
