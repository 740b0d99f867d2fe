"""What Slurm says of a job: which one is meant, its state, and which of its nodes Slurm has given up (squeue(1), sinfo(1))."""

from __future__ import annotations

import getpass
import os
import re
import shutil
from dataclasses import dataclass

from ..errors import RankscopeError
from ..model.gap import Gap, Why
from ..probe import child

_JOB = re.compile(r"me|\d+(?:[_+]\d+)?")
_FIELDS = "%A|%N|%T|%i|%u|%r|%j"
_TOOL_S = 10.0  # slurmctld answers in milliseconds, or is in trouble
_DOWN = ("down", "fail", "power", "unk", "inval")
_HALTED = ("SUSPENDED", "STOPPED")


@dataclass(frozen=True)
class Job:
    """A line of squeue: what Slurm calls the job now, where it runs, and its state."""

    id: str
    nodes: str
    state: str
    shown: str  # as a user writes it: 12_3 for a task of an array, 12+1 for a part of a heterogeneous job
    owner: str = ""
    reason: str = ""
    name: str = ""


def the_job(spec: str) -> list[Job]:
    """The parts of the one running job that is meant; raise RankscopeError where there is none, or one that is halted."""
    if not _JOB.fullmatch(spec):
        raise RankscopeError(
            f"this is not a Slurm job: {spec[:40]!r}", "", "slurm:2180718, slurm:12_3, slurm:12+1 or slurm:me"
        )
    who = ["-u", getpass.getuser(), "-t", "RUNNING,SUSPENDED"] if spec == "me" else ["-j", spec]
    told = tool("squeue", "-h", "-o", _FIELDS, *who)
    if told.status != 0:
        raise _refused(spec, told.errors.strip())
    lines = told.output.decode("utf-8", "replace").splitlines()
    chosen = choose(spec, [Job(*line.split("|", 6)) for line in lines if line.count("|") >= 6])
    if chosen[0].state in _HALTED:
        raise _halted(chosen[0])
    return chosen


def _refused(spec: str, said: str) -> RankscopeError:
    """Why squeue told nothing: it knows no such job (any more), or it cannot work here."""
    if "Invalid job id" in said:
        because = "it has ended (sacct may still know it), or the number is another one"
        return RankscopeError(f"Slurm knows no job {spec}", because, "squeue --me")
    return RankscopeError("squeue gives no list of jobs here", said[:300].replace("\n", "\n           "),
                          "on a login node of that cluster, or ssh:HOSTS, which does without Slurm")  # fmt: skip


def _halted(job: Job) -> RankscopeError:
    """A step of a suspended job would wait until the job goes on, and so would we."""
    because = f"its state is {job.state}: Slurm itself has stopped its processes, and starts nothing beside them"
    hint = f"scontrol resume {job.shown}     or look all the same:  rankscope diagnose 'ssh:{job.nodes}'"
    return RankscopeError(f"Slurm job {job.shown} is halted", because, hint)


def _not_running(spec: str, jobs: list[Job]) -> RankscopeError:
    """There is no node to look at: the job waits, or it has ended."""
    if not jobs:
        who = "you have no running job" if spec == "me" else f"it has ended (sacct -j {spec} tells how)"
        what = "there is no running Slurm job" + ("" if spec == "me" else f" {spec}")
        return RankscopeError(what, who, "squeue --me")
    states = ", ".join(f"{job.shown} is {job.state}" + f" ({job.reason})" * bool(job.reason) for job in jobs[:4])
    return RankscopeError(f"there is no running Slurm job {spec}", states, f"squeue --start -j {jobs[0].shown}")


def choose(spec: str, jobs: list[Job]) -> list[Job]:
    """The one running job that is meant, as all of its parts; raise RankscopeError with the list when that is not clear."""
    running = [job for job in jobs if job.nodes and job.state in ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED")]
    # The number of an array is also that of one of its tasks: not to be taken for it.
    exact = [job for job in running if spec == job.shown]
    if len(exact) == 1 or len(running) == 1:
        return exact or running
    if not running:
        raise _not_running(spec, jobs)
    if len({job.shown.partition("+")[0] for job in running}) == 1 and all("+" in job.shown for job in running):
        return running
    lines = "\n           ".join(f"slurm:{job.shown}   {job.name} on {job.nodes}" for job in running[:20])
    more = f"\n           … and {len(running) - 20} more" if len(running) > 20 else ""
    raise RankscopeError(f"slurm:{spec} stands for {len(running)} jobs; choose one", lines + more)


def tool(name: str, *arguments: str) -> child.Told:
    """What one of Slurm's own commands says; raise RankscopeError when there is none or it is silent."""
    path = shutil.which(name)
    if path is None:
        raise RankscopeError(
            f"{name} is not installed here", "this needs Slurm's own commands", "on a login node, or ssh:HOSTS"
        )
    told = child.run([path, *arguments], _TOOL_S, {**os.environ, "SLURM_TIME_FORMAT": "standard"})
    if told.status is None:
        raise RankscopeError(
            f"{name} gave no answer within {_TOOL_S:g} s", "slurmctld may be down", "ssh:HOSTS does without it"
        )
    return told


def given_up(nodes: str) -> dict[str, Gap]:
    """Nodes of the job that Slurm does not hear from any more; a star after the state means just that (sinfo(1))."""
    told = tool("sinfo", "-h", "-N", "-n", nodes, "-o", "%N|%T")
    found = {}
    for line in told.output.decode("utf-8", "replace").splitlines():
        name, _, state = line.strip().partition("|")
        if state.endswith("*") or state.lower().startswith(_DOWN):
            found[name] = Gap("host", Why.UNREACHABLE, f"Slurm says {state}: its slurmd does not answer", host=name)
    return found
