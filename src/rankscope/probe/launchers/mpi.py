"""Ranks of ``mpirun``: Open MPI (OMPI_*), MPICH, Intel MPI and others with Hydra (PMI_*), and PMIx (PMIX_*).

Ranks may be placed round robin over the hosts, so nothing is said about which ones should run here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ..launcher import Claim, Launcher, Place, number, ranks_by_environ, runs, with_descendants
from ..mpi_family import daemon
from ..table import Table


def _place(environ: Mapping[str, str]) -> Place | None:
    rank = number(environ, "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
    size = number(environ, "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
    # srun sets PMI variables as well when its MPI plug-in does; a task of it has a step.
    if rank is None or (size is not None and rank >= size) or (size is None and "PMIX_NAMESPACE" not in environ):
        return None
    local = number(environ, "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK")
    return Place(rank, local, size)


def find(table: Table, free: frozenset[int]) -> Iterator[Claim]:
    jobs: dict[tuple[str, int], dict[int, Place]] = defaultdict(dict)
    for pid, place in ranks_by_environ(table, free, _place).items():
        environ = table.seen[pid].environ or {}
        jobs[environ.get("PMIX_NAMESPACE", ""), daemon(table, pid) or 0][pid] = place
    starts = [(root, run) for (_, root), places in jobs.items() for run in ([places] if root else runs(table, places))]
    for root, ranks in starts:
        world = max((place.world_size or 0 for place in ranks.values()), default=0) or None
        members = {pid for pid in with_descendants(table, tuple(ranks)) if pid in free}
        ours = {root} & free
        yield Claim("mpi", root if ours else None, ranks, tuple(sorted(members | ours)), world_size=world)


LAUNCHER = Launcher("mpi", 55, find)
