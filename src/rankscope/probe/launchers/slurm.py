"""Tasks of ``srun`` whose only rank is SLURM_PROCID: the program reads it itself (srun(1), "OUTPUT ENVIRONMENT VARIABLES").

A batch script has SLURM_PROCID as well, but no step; what it runs is no task. A task that spawns its ranks itself is one
per node, not one per rank: such a tree is left to ``plain``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ..launcher import Claim, Launcher, Place, number, ranks_by_environ, with_descendants
from ..table import Table


def _place(environ: Mapping[str, str]) -> Place | None:
    rank, size = number(environ, "SLURM_PROCID"), number(environ, "SLURM_NTASKS")
    if rank is None or size is None or rank >= size or not environ.get("SLURM_STEP_ID", "").isdigit():
        return None
    return Place(rank, number(environ, "SLURM_LOCALID"), size)


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    jobs: dict[tuple[str, str], dict[int, Place]] = defaultdict(dict)
    for pid, place in ranks_by_environ(table, free, _place).items():
        environ = table.seen[pid].environ or {}
        if not _spawns(table, pid):
            jobs[environ.get("SLURM_JOB_ID") or _daemon(table, pid), environ["SLURM_STEP_ID"]][pid] = place
    for places in jobs.values():
        world = max(place.world_size or 0 for place in places.values())
        members = tuple(pid for pid in with_descendants(table, tuple(places)) if pid in free)
        yield Claim("slurm", None, places, members, world_size=world)


def _daemon(table: Table, pid: int) -> str:
    """The slurmstepd above a task, one for each step: what tells jobs apart where the environment does not."""
    return next((str(seen.pid) for seen in table.above(pid) if seen.comm.startswith("slurmstepd")), "")


def _spawns(table: Table, pid: int) -> bool:
    """Whether it is the parent of spawned ranks: multiprocessing's children that are neither loaders nor helpers."""
    children = [table.seen[child] for child in table.children.get(pid, ())]
    return any(
        not child.comm.startswith("pt_data_worker") and any("spawn_main(" in part for part in child.command)
        for child in children
    )


LAUNCHER = Launcher("slurm", 60, find)
