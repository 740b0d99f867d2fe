"""Which jobs of a node belong to one mpirun, where another one has ranks as well."""

from __future__ import annotations

from . import discover, mpi_family
from .discover import Found
from .table import Table


def jobs(table: Table, family: str) -> tuple[Found, ...]:
    """The jobs on this node that were started by an mpirun; ``family`` is the name that it gives what it starts."""
    return tuple(one for one in discover.jobs(table) if _is_of(table, one, family))


def _is_of(table: Table, found: Found, family: str) -> bool:
    told = {mpi_family.of_process(table, process.ref.pid) for process in found.processes} - {""}
    # Ranks whose daemon has died may have nothing that tells whose they are.
    return family in told if told else found.job.launcher == "mpi"
