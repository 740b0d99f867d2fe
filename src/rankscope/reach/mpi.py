"""``mpi:PID``: the hosts of a running ``mpirun`` (or ``prterun``, ``mpiexec``), from its daemons and its command line.

Open MPI starts one daemon per host through ssh (in a Slurm allocation: all of them through srun), as a child of mpirun; with
many hosts those daemons start others in turn. ``-H`` and ``--hostfile`` name the hosts as well. The daemon on our own host
has none: mpirun itself starts the ranks there. On another host of the job, the pid of its daemon or of one of its ranks will
do with Open MPI 3 and 4, which tell them all the hosts; PRRTE of Open MPI 5 and Hydra tell where their mpirun runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ..errors import RankscopeError
from ..probe import host, mpi_family
from ..probe.table import Table, read_table
from . import hostnames, learn, orte, ssh
from .hostfile import read_hosts
from .transport import Hosts, Options, Transport

_HOSTFILE = {"hostfile", "machinefile", "f", "default-hostfile"}
_HOST = {"host", "H", "hosts"}
# Options of ssh that take a word of their own (ssh(1)).
_SSH_TAKES = set("BbcDEeFIiJLlmOopQRSWw")
_REGEX = "orte_node_regex"
_LONGEST = 10  # digits of a pid, and more
_EXAMPLE = "mpi:$(pgrep -n 'mpirun|mpiexec|prterun')"
_TRY = f"rankscope diagnose {_EXAMPLE}"


def find(spec: str, options: Options) -> Hosts:
    """The hosts of an mpirun: where its daemons were started, what its command line names, and this host."""
    if not (spec.isascii() and spec.isdigit() and len(spec) <= _LONGEST):
        raise RankscopeError(f"this is not a process: {spec[:40]!r}", "mpi: takes the pid of mpirun", _TRY)
    here = host.describe().name
    table = read_table(here)
    pid = _mpirun(table, int(spec))
    if pid is None:
        raise RankscopeError(f"process {spec} is no mpirun and has none above it", "", _TRY)
    names = [*hosts_of(table, pid)]
    if _has_ranks(table, pid) or not names:
        names.append(here)
    found = hostnames.check(names)
    more = beyond(table, pid) if len(found) < others(table, pid) or _alone(table, pid) else ""
    return Hosts(found, whole=not more, mpi_job=family(table, pid), more=more)


def _mpirun(table: Table, pid: int) -> int | None:
    """The process itself, or the nearest mpirun above it."""
    line = [table.seen[pid], *table.above(pid)] if pid in table.seen else []
    return next((seen.pid for seen in line if mpi_family.is_daemon(seen)), None)


def family(table: Table, pid: int) -> str:
    """The name by which the nodes know what this mpirun started."""
    below = [*table.below(pid)]
    commands = (mpi_family.of_command(seen.command) for seen in (table.seen[pid], *below))
    ranks = (mpi_family.of_namespace((seen.environ or {}).get("PMIX_NAMESPACE", "")) for seen in below)
    return next((name for name in (*commands, *ranks) if name), "")


def hosts_of(table: Table, pid: int) -> Iterator[str]:
    """The hosts that a running mpirun reaches: the targets of its ssh children; where those are not all, also what its ranks
    were told, or what its options name, or what Slurm gave it."""
    reached = [name for seen in table.below(pid) for name in targets(seen.command)]
    yield from reached
    if not reached or len(reached) < others(table, pid):
        yield from told(table, pid) or tuple(named(table.seen[pid].command, _cwd(pid))) or _allocated(table, pid)


def _allocated(table: Table, pid: int) -> tuple[str, ...]:
    """The nodes that Slurm gave to the script which runs this mpirun, where daemons are started on others than this one: a step
    without a list of nodes has all of them (srun(1))."""
    listed = (table.seen[pid].environ or {}).get("SLURM_JOB_NODELIST", "")
    starts = any(_is_srun(seen.command) for seen in table.below(pid)) or others(table, pid) > 0
    return hostnames.expand_told(listed) if listed and starts else ()


def _is_srun(command: Sequence[str]) -> bool:
    return bool(command) and os.path.basename(command[0]) == "srun"


def others(table: Table, pid: int) -> int:
    """How many hosts beside that of mpirun the daemons are told of; 0: they are not told."""
    return max(1, *(mpi_family.daemons(seen.command) for seen in (table.seen[pid], *table.below(pid)))) - 1


def told(table: Table, pid: int) -> tuple[str, ...]:
    """What Open MPI has told the ranks below a daemon, else the daemons themselves."""
    below = [*table.below(pid)]
    about = [seen.environ or {} for seen in below]
    known = next((one for one in about if f"OMPI_MCA_{_REGEX}" in one), {})
    if known:
        return orte.hosts(known[f"OMPI_MCA_{_REGEX}"], known.get("OMPI_MCA_orte_num_nodes", ""))
    lines = (seen.command for seen in (table.seen[pid], *below) if _REGEX in seen.command)
    text = next((line[line.index(_REGEX) + 1].strip('"') for line in lines if line[-1] != _REGEX), "")
    return orte.hosts(text)[1:]  # the first is that of mpirun


def _alone(table: Table, pid: int) -> bool:
    """Whether this is a daemon that knows of no other host."""
    return table.seen[pid].comm in ("prted", "hydra_pmi_proxy")


def beyond(table: Table, pid: int) -> str:
    """Who knows the hosts that are not known here: the mpirun itself, on its own host."""
    name = family(table, pid)
    called = name.partition("-")[2].rpartition(":")[0] if name.startswith("hydra-") else ""
    if called and hostnames.told(called):
        return f"its mpiexec knows all of them: on {called}, rankscope diagnose {_EXAMPLE}"
    return (
        learn.asker(f"{name}@0") or "its mpirun knows all of them: rankscope diagnose mpi:PID on the host where it runs"
    )


def targets(command: Sequence[str]) -> tuple[str, ...]:
    """The hosts on which a child of mpirun starts daemons: one through ssh, all through srun."""
    if _is_srun(command):
        listed = next((word.partition("=")[2] for word in command if word.startswith("--nodelist=")), "")
        behind = (value for word, value in zip(command, command[1:]) if word in ("-w", "--nodelist"))
        listed = listed or next(behind, "")
        return hostnames.expand_told(listed) if listed else ()
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
            yield from (one.partition(":")[0].rpartition("@")[2] for one in value.split(",") if one)
        elif part.startswith("-") and name in _HOSTFILE:
            yield from (name.rpartition("@")[2] for name in read_hosts(os.path.join(folder, value)))


def _has_ranks(table: Table, pid: int) -> bool:
    """Whether this mpirun has ranks on our own host."""
    marks = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}
    return any((seen.environ or {}).keys() & marks for seen in table.below(pid))


TRANSPORT = Transport("mpi", "mpi:PID", find, ssh.ask)
