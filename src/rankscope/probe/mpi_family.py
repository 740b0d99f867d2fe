"""Which mpirun started a process: the name that it gives its daemons on their command lines, and its ranks through PMIx.

Open MPI 3 and 4 count (``-mca ess_base_jobid 127139840``; its ranks have the next numbers of the same upper half), PRRTE of
Open MPI 5 writes names (``prterun-login-781@0``), Hydra of MPICH tells its proxies where to call (``--control-port login:3508``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .table import Seen, Table

DAEMONS = (
    "orted", "prted", "mpirun", "mpiexec", "prterun", "prte", "orterun", "hydra_pmi_proxy", "mpiexec.hydra",
)  # fmt: skip
_NAMED = ("ess_base_nspace", "ess_base_jobid", "--control-port")
_COUNTED = "ess_base_num_procs"
_COMM = 15  # characters that the kernel keeps of a name (proc(5), comm)
_MADE_BY = re.compile(r"(?:prterun|prte|mpirun)-(.{1,253})-(\d{1,9})@\d+")


def is_daemon(seen: Seen) -> bool:
    """Whether this starts processes for MPI, or is the mpirun itself."""
    return seen.comm in {name[:_COMM] for name in DAEMONS}


def daemon(table: Table, pid: int) -> int | None:
    """The nearest ancestor that starts processes for MPI."""
    return next((seen.pid for seen in table.above(pid) if is_daemon(seen)), None)


def of_namespace(text: str) -> str:
    """The family of a name that PMIx gives a job, or a daemon: all jobs of one mpirun have the same."""
    if text.isdecimal() and len(text) <= 10:
        return f"orte-{int(text) >> 16}"
    return text.rpartition("@")[0]


def of_command(command: Sequence[str]) -> str:
    """The family that a daemon belongs to, from its command line or that of the ssh which starts it; empty: it does not say."""
    for name, value in _options(command, _NAMED):
        return f"hydra-{value}" if name == "--control-port" else of_namespace(value)
    return ""


def daemons(command: Sequence[str]) -> int:
    """How many daemons a family has, mpirun among them, as each of them is told; 0: it does not say."""
    value = next((value for _, value in _options(command, (_COUNTED,))), "")
    return int(value) if value.isdecimal() and len(value) < 7 else 0


def of_process(table: Table, pid: int) -> str:
    """The family of a rank, or of what a rank started; empty where nothing tells it."""
    seen = table.seen.get(pid)
    told = of_namespace((seen.environ or {}).get("PMIX_NAMESPACE", "")) if seen is not None else ""
    above = (of_command(one.command) for one in table.above(pid) if is_daemon(one))
    return told or next((name for name in above if name), "")


def launched_by(namespace: str) -> tuple[str, int] | None:
    """The host and pid of the prterun that a PMIx name tells (``prterun-login-781@1``), None where it tells none."""
    found = _MADE_BY.fullmatch(namespace)
    return (found[1], int(found[2])) if found else None


def _options(command: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The values behind these words; a command line for ssh has them in quotes."""
    for word, value in zip(command, command[1:]):
        if word in names:
            yield word, value.strip("\"'")
