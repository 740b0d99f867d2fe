"""Who has come to which group, from the names of the store's keys.

Gloo's ranks write their address under ``<prefix>/<group>//<device>//<n>/<rank of the group>`` before they wait for the
others' (torch/csrc/distributed/c10d/ProcessGroupGloo); the default group has no name there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ...model.evidence.store import StoreKeys
from ...model.patterns import regex
from ...model.ranks import RankSet

_ARRIVED = regex(r"(?:^|/)default_pg/\d+//(?:(?P<group>[^/]+)//)?(?P<device>[a-z]+)//(?P<n>\d+)/(?P<rank>\d{1,7})$")


@dataclass(frozen=True)
class Arrivals:
    """Ranks of each group that wrote their key; the default group is ``0``. ``asked`` is for how many ranks that is known,
    None for all."""

    by_group: dict[str, RankSet]
    asked: int | None = None

    def missing(self, world_size: int) -> RankSet:
        """Ranks that have not come to the default group although others have."""
        come = self.by_group.get("0", RankSet())
        known = world_size if self.asked is None else min(world_size, self.asked)
        return RankSet(range(known)) - come if come else RankSet()

    @property
    def sizes(self) -> dict[str, int]:
        """Members of the groups that everybody has come to, as far as keys tell: ranks count from 0."""
        known = self.by_group if self.asked is None else {}
        return {name: len(ranks) for name, ranks in known.items() if ranks == RankSet(range(len(ranks)))}


def arrivals(looks: Iterable[StoreKeys]) -> Arrivals:
    """Arrivals in the last attempt of a job."""
    found: dict[str, set[int]] = defaultdict(set)
    looks = tuple(looks)
    for look in looks:
        for key in look.keys:
            match = _ARRIVED.search(key)
            if match:
                found[match["group"] or "0"].add(int(match["rank"]))
    asked = [look.ranks_asked for look in looks]
    known = None if None in asked else max((number for number in asked if number is not None), default=None)
    return Arrivals({name: RankSet(ranks) for name, ranks in found.items()}, known)
