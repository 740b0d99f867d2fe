"""Where ranks run, in few words: ``rank 5 is pid 4711 on node2``, ``ranks 8-15 are on node2``."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.process import UNKNOWN_HOST, ProcessRef
from ..model.ranks import RankSet, ranks_phrase
from . import hosts

_FEW = 4  # ranks that are told one by one, and hosts


def phrase(ranks: Mapping[int, ProcessRef]) -> str:
    """Each of a few ranks with its pid and host, more of them by host; "" where neither is known."""
    if len(ranks) <= _FEW:
        known = [(rank, ref.spoken) for rank, ref in sorted(ranks.items()) if ref.spoken]
        return ", ".join(f"rank {rank} is {spoken}" for rank, spoken in known)
    by_host: dict[str, list[int]] = {}
    for rank, ref in sorted(ranks.items()):
        if ref.host != UNKNOWN_HOST:
            by_host.setdefault(ref.host, []).append(rank)
    if len(by_host) > _FEW:
        everybody = RankSet(rank for held in by_host.values() for rank in held)
        return f"{ranks_phrase(everybody)} are on {hosts.phrase(list(by_host))}"
    told = [(ranks_phrase(RankSet(held)), "is" if len(held) == 1 else "are", host) for host, held in by_host.items()]
    return ", ".join(f"{many} {verb} on {host}" for many, verb, host in told)
