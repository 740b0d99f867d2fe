"""Ranks in a collective that nobody who was seen holds up wait for the hosts that do not answer.

Where recorders name the ranks that are missing, those edges are there already and this adds none.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.diagnosis import Wait
from ...model.process import Role
from ..scene import Scene
from .collective import arrived, what


def find(scene: Scene) -> Iterator[Wait]:
    ranks = [standing for standing in scene.of_role(Role.RANK) if standing.member.rank is not None]
    if not scene.away or scene.missing or not all(arrived(standing) for standing in ranks):
        return
    hosts = [host for host in scene.away if host.ranks] or scene.away
    for standing in ranks:
        if standing.member.rank in scene.rank_edges:
            continue
        for host in hosts:
            yield Wait(standing.member.ref, host.ref, what(standing), standing.still_s)
