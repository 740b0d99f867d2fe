"""``mpi:PID``: the hosts of a running ``mpirun`` (or ``prterun``, ``mpiexec``), from its command line and its daemons.

Open MPI starts one daemon per host through ssh (in a Slurm allocation: all of them through srun), as a child of mpirun;
``-H`` and ``--hostfile`` name the hosts as well. The daemon on our own host has none: mpirun itself starts the ranks there.
On another host of the job, the pid of its daemon or of one of its ranks will do: Open MPI tells them all the hosts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ..errors import RankscopeError
from ..probe import host
from ..probe.launchers.mpi import DAEMONS
from ..probe.table import Table, read_table
from . import hostnames, orte, ssh
from .hostfile import read_hosts
from .transport import Hosts, Options, Transport

_HOSTFILE = {"hostfile", "machinefile", "f", "default-hostfile"}
_HOST = {"host", "H", "hosts"}
# Options of ssh that take a word of their own (ssh(1)).
_SSH_TAKES = set("BbcDEeFIiJLlmOopQRSWw")


def find(spec: str, options: Options) -> Hosts:
    """The hosts of an mpirun: where its daemons were started, what its command line names, and this host."""
    if not spec.isdigit():
        raise RankscopeError(
            f"this is not a process: {spec[:40]!r}", "mpi: takes the pid of mpirun", "mpi:$(pgrep -n mpirun)"
        )
    here = host.describe().name
    table = read_table(here)
    pid = _mpirun(table, int(spec))
    if pid is None:
        raise RankscopeError(f"process {spec} is no mpirun and has none above it", "", "mpi:$(pgrep -n mpirun)")
    names = [*hosts_of(table, pid)]
    if _has_ranks(table, pid) or not names:
        names.append(here)
    return Hosts(hostnames.check(names), whole=True)


def _mpirun(table: Table, pid: int) -> int | None:
    """The process itself, or the nearest mpirun above it."""
    line = [table.seen[pid], *table.above(pid)] if pid in table.seen else []
    return next((seen.pid for seen in line if seen.comm in DAEMONS), None)


def hosts_of(table: Table, pid: int) -> Iterator[str]:
    """The hosts that a running mpirun reaches: the targets of its ssh children, else those that its options name."""
    reached = [name for seen in table.below(pid) for name in targets(seen.command)]
    yield from reached or told(table, pid) or named(table.seen[pid].command, _cwd(pid))


def told(table: Table, pid: int) -> tuple[str, ...]:
    """What Open MPI has told the ranks below a daemon."""
    about = [seen.environ or {} for seen in table.below(pid)]
    known = next((one for one in about if "OMPI_MCA_orte_node_regex" in one), {})
    return orte.hosts(known.get("OMPI_MCA_orte_node_regex", ""), known.get("OMPI_MCA_orte_num_nodes", ""))


def targets(command: Sequence[str]) -> tuple[str, ...]:
    """The hosts on which a child of mpirun starts daemons: one through ssh, all through srun."""
    if command and os.path.basename(command[0]) == "srun":
        listed = next((word.partition("=")[2] for word in command if word.startswith("--nodelist=")), "")
        return hostnames.expand(listed) if listed else ()
    name = ssh_target(command)
    return (name,) if name is not None else ()


def _cwd(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return "/"


def ssh_target(command: Sequence[str]) -> str | None:
    """The host of an ssh command line, None when it is none."""
    if not command or os.path.basename(command[0]) != "ssh":
        return None
    words = iter(command[1:])
    for word in words:
        if not word.startswith("-"):
            return word.rpartition("@")[2]
        if len(word) == 2 and word[1] in _SSH_TAKES:
            next(words, None)
    return None


def named(command: Sequence[str], folder: str) -> Iterator[str]:
    """The hosts on mpirun's own command line: ``-H a:2,b`` or a host file."""
    for i, part in enumerate(command):
        name, _, value = part.lstrip("-").partition("=")
        value = value or "".join(command[i + 1 : i + 2])
        if part.startswith("-") and name in _HOST:
            yield from (one.partition(":")[0] for one in value.split(",") if one)
        elif part.startswith("-") and name in _HOSTFILE:
            yield from read_hosts(os.path.join(folder, value))


def _has_ranks(table: Table, pid: int) -> bool:
    """Whether this mpirun has ranks on our own host."""
    marks = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}
    return any((seen.environ or {}).keys() & marks for seen in table.below(pid))


TRANSPORT = Transport("mpi", "mpi:PID", find, ssh.ask)
