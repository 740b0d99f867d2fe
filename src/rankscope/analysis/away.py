"""Hosts that gave no answer, and which ranks run there as far as the answers of the others tell.

Ranks are numbered host by host by torchrun, srun and mpirun's default: where the hosts that answered hold blocks of one
size in the order of their names, the blocks that are missing belong to the hosts that are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..model.gap import Gap, Why
from ..model.process import ProcessRef, Role
from ..model.ranks import RankSet
from ..model.snapshot import Snapshot

# Reasons that say "this host did not speak to us". A host that says that nothing of the job runs there (GONE) did.
_SILENT = {Why.UNREACHABLE, Why.TIMEOUT, Why.DENIED, Why.MISSING, Why.FAILED}


@dataclass(frozen=True)
class Away:
    """One host that did not answer, or that has no process of the job any more.

    ``ranks`` may be empty where nobody can tell; ``sure`` is False where they were told by the order of host names.
    """

    gap: Gap
    ranks: RankSet
    sure: bool = True

    @property
    def host(self) -> str:
        return self.gap.host or ""

    @property
    def dark(self) -> bool:
        """No packet came back from it, not even a refusal."""
        return self.gap.why is Why.UNREACHABLE

    @property
    def empty(self) -> bool:
        """It answered, and nothing of the job runs there."""
        return self.gap.why is Why.GONE

    @property
    def ref(self) -> ProcessRef:
        """The host's stand-in in the wait-for graph."""
        return ProcessRef(self.host, 0, -1)


def away(snapshot: Snapshot, world_size: int | None) -> tuple[Away, ...]:
    """The hosts of a job of which nothing was seen."""
    heard = {process.ref.host for process in snapshot.processes} | {host.name for host in snapshot.hosts}
    gaps = {
        gap.host: gap for gap in snapshot.gaps if gap.what == "host" and gap.host and gap.why in (*_SILENT, Why.GONE)
    }
    silent = [
        gap
        for name, gap in sorted(gaps.items(), key=lambda item: _natural(item[0] or ""))
        if name not in heard or gap.why is Why.GONE
    ]
    if not silent or not world_size:
        return tuple(Away(gap, RankSet()) for gap in silent if gap.why is not Why.GONE)
    blocks = _blocks(snapshot)
    unseen = RankSet(range(world_size)) - RankSet(r for held in blocks.values() for r in held)
    unseen = unseen - snapshot.job.expected_ranks
    if not unseen:
        return ()  # every rank is accounted for: those hosts have no part in this job
    size = max((len(held) for held in blocks.values()), default=0)
    if len(silent) == 1 and len(unseen) <= max(size, 1):
        return (Away(silent[0], unseen),)
    told = _by_order(blocks, [gap.host or "" for gap in silent], size, unseen)
    return tuple(Away(gap, told.get(gap.host or "", RankSet()), sure=False) for gap in silent)


def _blocks(snapshot: Snapshot) -> dict[str, RankSet]:
    """The ranks that each host holds."""
    held: dict[str, list[int]] = {}
    for process in snapshot.processes:
        if process.role is Role.RANK and process.rank is not None:
            held.setdefault(process.ref.host, []).append(process.rank)
    return {host: RankSet(ranks) for host, ranks in held.items()}


def _by_order(blocks: Mapping[str, RankSet], silent: list[str], size: int, unseen: RankSet) -> dict[str, RankSet]:
    """The ranks of silent hosts by the order of names, when every host that spoke holds just the block of its place. Ranks
    that are left over run on hosts that were not asked: then the names must leave no room between them."""
    names = sorted([*blocks, *silent], key=_natural)
    places = {name: RankSet(range(i * size, (i + 1) * size)) for i, name in enumerate(names)}
    if any(places[name] != held for name, held in blocks.items()):
        return {}
    if unseen - RankSet(rank for name in silent for rank in places[name]) and not _in_a_row(names):
        return {}
    return {name: places[name] for name in silent if not (places[name] - unseen)}


def _in_a_row(names: list[str]) -> bool:
    """``node7``, ``node8``, ``node9``: no name fits between them."""
    parts = [re.fullmatch(r"(.*?)(\d+)(\D*)", name) for name in names]
    numbers = [int(part[2]) for part in parts if part]
    frames = {(part[1], part[3]) for part in parts if part}
    return len(frames) == 1 and numbers == list(range(numbers[0], numbers[0] + len(names)))


def _natural(name: str) -> list[tuple[int, str]]:
    """``node10`` after ``node9``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]
