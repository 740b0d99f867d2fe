"""Any launcher that puts RANK and WORLD_SIZE into the environment: deepspeed, scripts under ssh, containers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ..launcher import Claim, Launcher, Place, ranks_by_environ, runs, torch_place, with_descendants
from ..table import Table


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    jobs: dict[tuple[str, str, int | None], dict[int, Place]] = defaultdict(dict)
    for pid, place in ranks_by_environ(table, free, torch_place).items():
        environ = table.seen[pid].environ or {}
        # Two jobs on one host differ in their meeting point.
        jobs[environ.get("MASTER_ADDR", ""), environ.get("MASTER_PORT", ""), place.world_size][pid] = place
    for world, places in _together(table, jobs):
        parents = {table.seen[pid].parent for pid in places}
        root = parents.pop() if len(parents) == 1 else None
        if root is not None and (root not in free or not table.seen[root].python):
            root = None
        members = with_descendants(table, tuple(places))
        members = tuple(sorted({*members, root, *_bodies(table, root, free)})) if root is not None else members
        yield Claim("environment", root, places, members, world_size=world)


def _together(
    table: Table, jobs: Mapping[tuple[str, str, int | None], dict[int, Place]]
) -> Iterator[tuple[int | None, dict[int, Place]]]:
    """One job per meeting point; ranks of one start script that complete each other are one job that disagrees about it."""
    whole: dict[tuple[str, int | None, tuple[int, ...]], list[dict[int, Place]]] = defaultdict(list)
    for (_, port, world), places in jobs.items():
        parents = {table.seen[pid].parent for pid in places}
        parts = whole[port, world, tuple(parents) if len(parents) == 1 else tuple(sorted(places))]
        ranks = {place.rank for place in places.values()}
        part = next((one for one in parts if ranks.isdisjoint(place.rank for place in one.values())), None)
        if part is None or not port:
            parts.append(dict(places))
        else:
            part.update(places)
    for (_, world, _), parts in whole.items():
        yield from ((world, run) for part in parts for run in runs(table, part))


def _bodies(table: Table, root: int, free: frozenset[int]) -> Iterator[int]:
    """Children that failed and were not collected: their environment is gone, but one may have been a rank.

    One that ended well has done its part; a script that waits for its ranks in order collects it late.
    """
    return (pid for pid in table.children.get(root, ()) if pid in free and table.seen[pid].exit_status)


LAUNCHER = Launcher("environment", 50, find)
