"""Which jobs of a node belong to a Slurm job: by control group, by environment, by what the node's own daemon lists."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.gap import Gap, Why
from ..model.process import Role
from . import child, discover
from .discover import Found
from .redact import redact
from .table import Table

_LIST_S = 3.0
SLURMD = "slurmd"


def jobs(table: Table, numbers: str, proc: str = "/proc") -> tuple[Found, ...]:
    """The jobs on this node that were started by a Slurm job; ``numbers`` are those by which Slurm knows it, with commas."""
    found = discover.jobs(table)
    mine = tuple(one for one in found if any(is_of(table, numbers, pid, proc) for pid in _deciding(one)))
    if mine:
        return mine
    listed = _listed(numbers)
    mine = tuple(one for one in found if any(pid in listed for pid in _deciding(one)))
    return mine or _programs(table, numbers, listed, proc)


def _deciding(found: Found) -> Iterator[int]:
    """Whose Slurm job is that of the whole: ranks and launchers; what these start may be anybody's (a test, an ``sbatch``)."""
    return (each.ref.pid for each in found.processes if each.rank is not None or each.role is Role.LAUNCHER)


def is_of(table: Table, numbers: str, pid: int, proc: str) -> bool:
    """Whether a process was started by this Slurm job: by its control group, which nobody can change, else by its
    environment, which a script may have taken along from another job."""
    wanted = set(numbers.split(","))
    told = _of_cgroups(pid, proc)
    seen = table.seen.get(pid)
    return bool(wanted & told) if told else seen is not None and (seen.environ or {}).get("SLURM_JOB_ID") in wanted


def _programs(table: Table, numbers: str, listed: frozenset[int], proc: str) -> tuple[Found, ...]:
    """Python programs of a Slurm job that are no distributed job: looked at alone, each with its descendants."""
    theirs = {seen.pid for seen in table.seen.values() if seen.python and seen.environ is not None
              and (seen.pid in listed or is_of(table, numbers, seen.pid, proc))}  # fmt: skip
    first = [pid for pid in sorted(theirs) if not theirs & {above.pid for above in table.above(pid)}]
    return tuple(discover.alone(table, pid) for pid in first)


def epilogs(table: Table) -> Iterator[Gap]:
    """What slurmd itself runs on this node: prologs, epilogs, health checks; its steps belong to jobs."""
    daemons = {seen.pid for seen in table.seen.values() if seen.comm == SLURMD}
    for seen in table.seen.values():
        if seen.parent in daemons and seen.comm not in (SLURMD, "slurmstepd"):
            command = " ".join(redact(seen.command))[:200] or seen.comm
            state = " (state D: it cannot be killed)" if seen.state == "D" else ""
            yield Gap(SLURMD, Why.SKIPPED, f"slurmd runs {command}{state}", host=table.host)


def _listed(numbers: str) -> frozenset[int]:
    """The processes of a Slurm job as the node's own daemon lists them: for programs that wiped their environment, where
    no control group tells either (scontrol(1), "listpids")."""
    found: set[int] = set()
    for number in numbers.split(","):
        try:
            told = child.run(["scontrol", "listpids", number], _LIST_S)
        except OSError:
            break
        words = (line.split() for line in told.output.decode("utf-8", "replace").splitlines())
        found.update(int(line[0]) for line in words if line and line[0].isdecimal())
    return frozenset(found)


def _of_cgroups(pid: int, proc: str) -> set[str]:
    """The numbers of Slurm jobs in the names of a process's control groups: ``job_71``."""
    try:
        with open(f"{proc}/{pid}/cgroup", encoding="utf-8", errors="replace") as file:
            names = {name for line in file.read(1 << 16).splitlines() for name in line.split("/")}
    except OSError:
        return set()
    return {name[4:] for name in names if name.startswith("job_") and name[4:].isdecimal()}
